"""Arrange effects on a common axis (a forest plot); positions are percentages of the width, so that
pages can scale them.

Differences are on a linear axis that includes 0. Deviations of exact claims are on a logarithmic
axis, because deviations that must be 0 and deviations that must differ from 0 are often fifteen
orders of magnitude apart.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from ablate.config.labels import factor_label
from ablate.evidence.types import ReportedClaim
from ablate.metric.table import metric_in_words
from ablate.phrases import interval
from ablate.report.selection import PER, bound, contrast
from ablate.verdict.decision import is_exact
from ablate.verdict.kind import KINDS
from ablate.verdict.wording.details import unit_of

LEAST = 1e-17  # stands for 0 on a logarithmic axis; smaller than rounding errors near 1
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TICKS = 5
AROUND = 0.06  # space at each end of an axis, as a fraction of the range of the values
ONE_AXIS = (
    "metric",
    "kind",
    "better",
    "over",
    "scale",
)  # fields that must be equal for effects on one axis


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
        if not size:
            return []
        return (
            [size] if self.claim["kind"] == "exact" else [*KINDS[self.claim["kind"]].bounds(size)]
        )

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


def forests(rows: Iterable[Row]) -> list[Forest]:
    """Return forest plots of the effects, one for each group of effects that can share a horizontal
    axis, such as differences in the same metric.
    """
    ordered = sorted(rows, key=_axis_of)
    groups = [list(group_rows) for _, group_rows in itertools.groupby(ordered, _axis_of)]
    return [Forest(_axis(group), group) for group in groups]


def _axis_of(row_of_axis: Row) -> tuple[str, ...]:
    fields = dict(row_of_axis.claim)
    return ("exact",) if row_of_axis.exact else tuple(str(fields[key]) for key in ONE_AXIS)


def _subject(claim: ReportedClaim) -> list[str]:
    """Return the label of an exact claim as lines of text: the measured quantity, and the arms if
    the claim compares arms.

    An exact claim must hold in every run, without any statistics.
    """
    return [metric_in_words(claim["metric"], claim.get("measures")).named, *contrast(claim)]


def _axis(rows: list[Row]) -> Axis:
    values = [value for effect_row in rows for value in effect_row.values() if math.isfinite(value)]
    if rows[0].exact:
        sizes = [max(abs(value), LEAST) for value in values]
        return Axis(min(sizes) / 10, max(*sizes, 1e-3) * 10, True, "distance from 0, logarithmic")
    low, high = min(*values, 0.0), max(*values, 0.0)
    around = AROUND * (high - low or 1.0)
    return Axis(low - around, high + around, False, _axis_name(rows[0].claim))


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
