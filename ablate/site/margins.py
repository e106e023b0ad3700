"""Show which verdict other margins would give: ranges of margins, and the margin of the study."""

from dataclasses import dataclass
from itertools import pairwise

from ablate.evidence.types import ReportedClaim
from ablate.metric.table import metric_of
from ablate.report.selection import bound
from ablate.site.forest import LEAST, Axis
from ablate.verdict.decision import Decision

BEYOND = 1.5  # the axis ends at this multiple of the largest margin shown


@dataclass(frozen=True)
class Band:
    """A range of margins with the same verdict; start and width are percentages of the axis."""

    start: float
    width: float
    verdict: str
    label: str  # the verdict with its grade


@dataclass(frozen=True)
class Margins:
    """The verdicts that a claim would have at all margins from 0 on; for a claim that a condition
    holds in every case, at all tolerances.
    """

    which: str  # margin | tolerance
    planned: float  # the margin or tolerance of the study
    axis: Axis
    bands: list[Band]
    unit: str

    @property
    def place(self) -> float:
        """The position of the study's own margin on the axis, in percent."""
        return self.axis.place(self.planned)


def margins(claim: ReportedClaim) -> Margins | None:
    """Return the ranges of margins with their verdicts; None if every margin gives the same
    verdict.
    """
    turns = claim["sensitivity"]
    if len(turns) < 2:
        return None
    which, study_margin = bound(claim)
    log = claim["kind"] == "exact"
    starts = [turn["from"] for turn in turns]
    axis = _axis([*starts[1:], study_margin], log)
    ends = [axis.place(start) for start in starts]
    ends = [0.0, *(min(100.0, end) for end in ends[1:]), 100.0]
    bands = [
        Band(
            start=start,
            width=round(end - start, 2),
            verdict=turn["verdict"],
            label=str(Decision(turn["verdict"], turn["grade"])),
        )
        for (start, end), turn in zip(pairwise(ends), turns, strict=True)
    ]
    return Margins(which, study_margin, axis, bands, metric_of(claim["metric"]).axis)


def _axis(shown: list[float], log: bool) -> Axis:
    if not log:
        return Axis(0.0, BEYOND * max(shown) or 1.0, False, "")
    sizes = [max(size, LEAST) for size in shown]
    return Axis(min(sizes) / 100, max(sizes) * 100, True, "")
