"""Arrange effects on a common axis (a forest plot); positions are percentages of the width, so that
pages can scale them.

A band below shows which verdict other margins would give.

Differences are on a linear axis that includes 0. Deviations of exact claims are on a logarithmic
axis, because deviations that must be 0 and deviations that must differ from 0 are often fifteen
orders of magnitude apart.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TypeVar

from ablate.config.labels import factor_label
from ablate.evidence.types import ReportedClaim
from ablate.metric.table import metric_in_words, metric_of
from ablate.phrases import interval
from ablate.report.selection import PER, bound, contrast
from ablate.verdict.decision import Decision, is_exact
from ablate.verdict.kind import KINDS
from ablate.verdict.wording.details import unit_of

Item = TypeVar("Item")
LEAST = 1e-17  # stands for 0 on a logarithmic axis; smaller than rounding errors near 1
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TICKS = 5
AROUND = 0.06  # space at each end of an axis, as a fraction of the range of the values
BEYOND = 1.5  # the axis of margins ends at this multiple of the largest margin shown
# fields that must be equal for effects on one axis
ONE_AXIS = ("metric", "kind", "better", "over", "scale")


@dataclass(frozen=True)
class Axis:
    """A horizontal axis from a smallest to a largest value; both ends of a logarithmic axis are
    above 0.
    """

    low: float
    high: float
    log: bool
    name: str

    def place(self, value: float) -> float:
        """Return the distance of a value from the left end of the axis, as a percentage of the
        width of the axis.
        """
        if self.log:
            value = max(abs(value), LEAST)
            span = math.log(self.high / self.low)
            return round(100 * math.log(value / self.low) / span, 2)
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def span(self, ends: tuple[float, float]) -> tuple[float, float]:
        """Return the start and the width of an interval as percentages of the width of the axis.

        The part of the interval beyond an end of the axis is cut off.
        """
        start, end = (min(100.0, max(0.0, self.place(value))) for value in ends)
        return start, round(end - start, 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The positions of round numbers on the axis as percentages of its width, with labels."""
        values = self._powers() if self.log else self._multiples()
        return [(self.place(value), "0" if value == LEAST else f"{value:g}") for value in values]

    def _powers(self) -> list[float]:
        ends = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        step = max(1, -(-(ends[1] - ends[0]) // TICKS))
        return [10.0**power for power in range(ends[0], ends[1] + 1, step)]

    def _multiples(self) -> list[float]:
        rough = (self.high - self.low) / TICKS
        size = 10 ** math.floor(math.log10(rough))
        step = next(size * s for s in STEPS if size * s >= rough * 0.999)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


@dataclass(frozen=True)
class Row:
    """The effect of a claim (the difference between two arms, with its interval), as a row of a
    forest plot.
    """

    claim: ReportedClaim
    label: list[str]  # the compared arms
    place: str  # where the verdict holds, such as the corpus and the number of steps; may be ""

    @property
    def seeds(self) -> list[float]:
        """The difference between treatment and baseline for every seed.

        For an exact claim, that is, a claim that a value is 0 (or far from 0) in every case, the
        value of every case. A case is a run, or a pair of runs with the same seed.
        """
        return [value for value in self.claim["differences"] if value is not None]

    @property
    def bounds(self) -> list[float]:
        """The values (such as margins) with which the effect is compared."""
        _, size = bound(self.claim)
        if self.claim["kind"] == "exact":
            return [size] if size else []
        return [*KINDS[self.claim["kind"]].bounds(size)] if size else []

    @property
    def shade(self) -> tuple[float, float] | None:
        """The range of effects that are too small to matter, or of tolerated values of an exact
        claim; None without a margin or tolerance.
        """
        _, size = bound(self.claim)
        return (0.0 if self.exact else -size, size) if size else None

    @property
    def exact(self) -> bool:
        """Whether the claim is exact, that is, whether it must hold in every run without any
        statistics.
        """
        return is_exact(self.claim)

    @property
    def text(self) -> str:
        """The effect and its interval, as text."""
        metric = unit_of(self.claim)
        effect = metric.say(self.claim["effect"], sign=not self.exact)
        ends = self.claim["interval"]
        return f"{effect} {interval(metric, ends)}" if ends else effect

    @property
    def intervals(self) -> list[tuple[str, list[float]]]:
        """The CSS class and the ends of each confidence interval of the effect; the interval that
        decides equivalence is last.
        """
        both = ("", self.claim["interval"]), ("inner", self.claim.get("interval_equivalence"))
        return [(name, ends) for name, ends in both if ends]

    def values(self) -> list[float]:
        """Return all values that the axis must include: the effect, the ends of its intervals, the
        values of all seeds, and the margins.
        """
        ends = [end for _, both in self.intervals for end in both]
        return [self.claim["effect"] or 0.0, *ends, *self.seeds, *self.bounds]


@dataclass(frozen=True)
class Forest:
    """The rows of a forest plot, on a common axis."""

    axis: Axis
    rows: list[Row]

    @property
    def directed(self) -> bool:
        """Whether one side of 0 favours the claim of at least one row; a claim that two arms are
        equal has no such side.
        """
        return any(row.claim["kind"] != "equivalence" for row in self.rows)


def row(claim: ReportedClaim, place: str) -> Row | None:
    """Return the row of a claim in a forest plot; None if the claim has no finite effect and
    interval to draw.

    `place` is a short text on where the verdict holds, such as the corpus; it may be "".
    """
    if claim["effect"] is None or not all(map(math.isfinite, claim["interval"] or [])):
        return None
    return Row(claim, contrast(claim) if claim["kind"] != "exact" else _subject(claim), place)


def forests(drawn: Iterable[tuple[Row | None, Item]]) -> list[tuple[Forest, list[Item]]]:
    """Return forest plots of the effects, one for each group of effects that can share a horizontal
    axis, such as differences in the same metric.

    Each effect comes with an item, such as its verdict. Each plot comes with the items of its
    effects. An item without an effect is left out.
    """
    ordered = sorted(
        ((_axis_of(row), row, item) for row, item in drawn if row), key=lambda part: part[0]
    )
    groups = [[*group] for _, group in groupby(ordered, lambda part: part[0])]
    return [(_forest([row for _, row, _ in group]), [x for *_, x in group]) for group in groups]


def _axis_of(effect: Row) -> tuple[str, ...]:
    fields = dict(effect.claim)
    return ("exact",) if effect.exact else tuple(str(fields[key]) for key in ONE_AXIS)


def _subject(claim: ReportedClaim) -> list[str]:
    """Return the label of an exact claim as lines of text: the measured quantity, and the arms if
    the claim compares arms.

    An exact claim must hold in every run, without any statistics.
    """
    return [metric_in_words(claim["metric"], claim.get("measures")).named, *contrast(claim)]


def _forest(rows: list[Row]) -> Forest:
    values = [value for effect in rows for value in effect.values() if math.isfinite(value)]
    if rows[0].exact:
        sizes = [max(abs(value), LEAST) for value in values]
        low, high = min(sizes) / 10, max(*sizes, 1e-3) * 10
        return Forest(Axis(low, high, True, "distance from 0, logarithmic"), rows)
    low, high = min(*values, 0.0), max(*values, 0.0)
    around = AROUND * (high - low or 1.0)
    return Forest(Axis(low - around, high + around, False, _axis_name(rows[0].claim)), rows)


def _axis_name(claim: ReportedClaim) -> str:
    """Return the label of an axis of effects in the words of the claim; positive values
    favour the claim.
    """
    name = metric_in_words(claim["metric"], claim.get("measures")).axis
    falls = claim["better"] == "lower"
    if claim["kind"] == "trend":
        factor = factor_label(claim["over"])
        change = f"{'fall' if falls else 'rise'} of {name}"
        per = PER[claim["scale"]]
        return f"{change} {per} {factor}" if per else f"exponent of {name} over {factor}"
    if claim["metric"].endswith("changed"):  # this metric is a difference already
        return name
    return f"{'fall of' if falls else 'difference in'} {name}"


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
    which, planned = bound(claim)
    starts = [turn["from"] for turn in turns]
    axis = _axis_of_margins([*starts[1:], planned], claim["kind"] == "exact")
    ends = [0.0, *(min(100.0, axis.place(start)) for start in starts[1:]), 100.0]
    bands = [
        Band(
            start=start,
            width=round(end - start, 2),
            verdict=turn["verdict"],
            label=str(Decision(turn["verdict"], turn["grade"])),
        )
        for (start, end), turn in zip(pairwise(ends), turns, strict=True)
    ]
    return Margins(which, planned, axis, bands, metric_of(claim["metric"]).axis)


def _axis_of_margins(shown: list[float], log: bool) -> Axis:
    if not log:
        return Axis(0.0, BEYOND * max(shown) or 1.0, False, "")
    sizes = [max(size, LEAST) for size in shown]
    return Axis(min(sizes) / 100, max(sizes) * 100, True, "")
