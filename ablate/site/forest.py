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
from typing import Generic, TypeVar

from matplotlib.ticker import MaxNLocator

from ablate.evidence.types import Entry
from ablate.metric.table import metric_in_words, metric_of
from ablate.phrases import interval
from ablate.report.selection import bound, contrast, effect_axis
from ablate.verdict.decision import Decision, is_exact
from ablate.verdict.kind import KINDS
from ablate.words.effect import unit_of

Item = TypeVar("Item")
LEAST = 1e-17  # stands for 0 on a logarithmic axis; smaller than rounding errors near 1
STEPS = (1, 2, 2.5, 5, 10)
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
        ticks = MaxNLocator(TICKS, steps=STEPS).tick_values(self.low, self.high)
        return [float(f"{tick:.12g}") for tick in ticks if self.low <= tick <= self.high]


@dataclass(frozen=True)
class Row:
    """The effect of a claim (the difference between two arms, with its interval), as a row of a
    forest plot.
    """

    claim: Entry

    @property
    def label(self) -> list[str]:
        """The compared arms as lines of text, after the measured quantity if the claim is exact."""
        arms = contrast(self.claim)
        if self.claim["kind"] != "exact":
            return arms
        return [metric_in_words(self.claim["metric"], self.claim.get("measures")).named, *arms]

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
class Forest(Generic[Item]):
    """A forest plot: an axis, and the effects on it, each with an item such as its verdict."""

    axis: Axis
    rows: list[tuple[Row, Item]]

    @property
    def limits(self) -> bool:
        """Whether the claims of the rows state a limit for a value, such as 0, instead of a
        difference that matters.
        """
        return any(row.claim["kind"] == "exact" for row, _ in self.rows)

    @property
    def directed(self) -> bool:
        """Whether one side of 0 favours the claim of at least one row; a claim that two arms are
        equal, and a limit for a value, have no such side.
        """
        undirected = ("equivalence", "exact")
        return any(row.claim["kind"] not in undirected for row, _ in self.rows)


def row(claim: Entry) -> Row | None:
    """Return the row of a claim in a forest plot; None if the claim has no finite effect and
    interval to draw.
    """
    if claim["effect"] is None or not all(map(math.isfinite, claim["interval"] or [])):
        return None
    return Row(claim)


def forests(drawn: Iterable[tuple[Row | None, Item]]) -> list[Forest[Item]]:
    """Return forest plots of the effects, one for each group of effects that can share a horizontal
    axis, such as differences in the same metric.

    Each effect comes with an item, such as its verdict. An item without an effect is left out.
    """
    ordered = sorted(((row, item) for row, item in drawn if row), key=lambda part: _group(part[0]))
    groups = [[*group] for _, group in groupby(ordered, lambda part: _group(part[0]))]
    return [Forest(_axis([row for row, _ in group]), group) for group in groups]


def _group(effect: Row) -> tuple[str, ...]:
    """Return what is equal for all effects that can share an axis."""
    fields = dict(effect.claim)
    return ("exact",) if effect.exact else tuple(str(fields[key]) for key in ONE_AXIS)


def _axis(rows: list[Row]) -> Axis:
    values = [value for effect in rows for value in effect.values() if math.isfinite(value)]
    if rows[0].exact:
        sizes = [max(abs(value), LEAST) for value in values]
        low, high = min(sizes) / 10, max(*sizes, 1e-3) * 10
        return Axis(low, high, True, "distance from 0, logarithmic")
    low, high = min(*values, 0.0), max(*values, 0.0)
    around = AROUND * (high - low or 1.0)
    return Axis(low - around, high + around, False, effect_axis(rows[0].claim))


@dataclass(frozen=True)
class Margins:
    """The verdicts that a claim would have at all margins from 0 on; for a claim that a condition
    holds in every case, at all tolerances.

    Each range of margins with the same verdict has its start and its width, as percentages of the
    axis, and the verdict.
    """

    which: str  # margin | tolerance
    planned: float  # the margin or tolerance of the study
    axis: Axis
    bands: list[tuple[float, float, Decision]]
    unit: str

    @property
    def place(self) -> float:
        """The position of the study's own margin on the axis, in percent."""
        return self.axis.place(self.planned)


def margins(claim: Entry) -> Margins | None:
    """Return the ranges of margins with their verdicts; None if every margin gives the same
    verdict.
    """
    turns = claim["sensitivity"]
    if len(turns) < 2:
        return None
    which, planned = bound(claim)
    starts = [turn["from"] for turn in turns[1:]]
    axis = _axis_of_margins([*starts, planned], claim["kind"] == "exact")
    ends = [0.0, *(min(100.0, axis.place(start)) for start in starts), 100.0]
    bands = [
        (start, round(end - start, 2), Decision(turn["verdict"], turn["grade"]))
        for (start, end), turn in zip(pairwise(ends), turns, strict=True)
    ]
    return Margins(which, planned, axis, bands, metric_of(claim["metric"]).axis)


def _axis_of_margins(shown: list[float], log: bool) -> Axis:
    if not log:
        return Axis(0.0, BEYOND * max(shown) or 1.0, False, "")
    sizes = [max(size, LEAST) for size in shown]
    return Axis(min(sizes) / 100, max(sizes) * 100, True, "")
