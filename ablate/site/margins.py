"""Which verdict another margin would give: bands of margins, and where the study's own lies."""

from dataclasses import dataclass
from itertools import pairwise

from ablate.evidence.types import ReportedClaim
from ablate.metric.table import metric_of
from ablate.report.selection import bound
from ablate.site.forest import LEAST, Axis
from ablate.verdict.decision import Decision

BEYOND = 1.5  # times the largest margin at which something changes, or the study's own


@dataclass(frozen=True)
class Band:
    """Margins with one verdict, placed in per cent of the axis."""

    start: float
    width: float
    verdict: str
    said: str  # with its grade
    since: str  # the margin at which it begins


@dataclass(frozen=True)
class Margins:
    """All margins from 0 on, or all tolerances of an exact claim."""

    which: str  # margin | tolerance
    own: float
    axis: Axis
    bands: list[Band]
    unit: str

    @property
    def place(self) -> float:
        """Where the study's own is."""
        return self.axis.place(self.own)


def margins(told: ReportedClaim) -> Margins | None:
    """The bands of an answer; None where every margin gives the same verdict."""
    turns = told["sensitivity"]
    if len(turns) < 2:
        return None
    which, own = bound(told)
    log = told["kind"] == "exact"
    starts = [turn["from"] for turn in turns]
    axis = _axis([*starts[1:], own], log)
    metric = metric_of(told["metric"])
    ends = [axis.place(start) for start in starts]
    ends = [0.0, *(min(100.0, end) for end in ends[1:]), 100.0]
    bands = [
        Band(
            start=start,
            width=round(end - start, 2),
            verdict=turn["verdict"],
            said=str(Decision(turn["verdict"], turn["grade"])),
            since=f"{turn['from']:.3g}" if log else metric.say(turn["from"]),
        )
        for (start, end), turn in zip(pairwise(ends), turns, strict=True)
    ]
    return Margins(which, own, axis, bands, metric.axis)


def _axis(shown: list[float], log: bool) -> Axis:
    if not log:
        return Axis(0.0, BEYOND * max(shown) or 1.0, False, "")
    sizes = [max(size, LEAST) for size in shown]
    return Axis(min(sizes) / 100, max(sizes) * 100, True, "")
