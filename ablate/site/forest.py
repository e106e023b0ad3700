"""Effects on one axis, placed in per cent of its width: pages draw them as wide as they are.

Differences stand on a linear axis that shows 0. Deviations of exact claims stand on a logarithmic
one, since what must be 0 and what must not are often fifteen powers of ten apart.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from ablate.config.labels import factor_label
from ablate.evidence.types import ReportedClaim
from ablate.metric.table import metric_in_words, metric_of
from ablate.phrases import interval
from ablate.report.selection import PER, bound, contrast
from ablate.verdict.decision import is_exact
from ablate.verdict.kind import KINDS

LEAST = 1e-17  # what a logarithmic axis shows of 0: less than any rounding of numbers around 1
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TICKS = 5
AROUND = 0.06  # of an axis, free at both ends
ONE_AXIS = ("metric", "kind", "better", "over", "scale")  # equal for effects on one axis


@dataclass(frozen=True)
class Axis:
    """A range of values; both ends of a logarithmic one are above 0."""

    low: float
    high: float
    log: bool
    name: str

    def place(self, value: float) -> float:
        """Per cent of the width, from the left."""
        if self.log:
            value = max(abs(value), LEAST)
            span = math.log(self.high / self.low)
            return round(100 * math.log(value / self.low) / span, 2)
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def span(self, ends: tuple[float, float]) -> tuple[float, float]:
        """Return start and width of a range in per cent, without what lies beyond the axis."""
        start, end = (min(100.0, max(0.0, self.place(value))) for value in ends)
        return start, round(end - start, 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places of round numbers, and what is written there."""
        found = self._powers() if self.log else self._multiples()
        return [(self.place(value), "0" if value == LEAST else f"{value:g}") for value in found]

    def _powers(self) -> list[float]:
        ends = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        step = max(1, -(-(ends[1] - ends[0]) // TICKS))
        return [10.0**power for power in range(ends[0], ends[1] + 1, step)]

    def _multiples(self) -> list[float]:
        rough = (self.high - self.low) / TICKS
        size = 10 ** math.floor(math.log10(rough))
        step = next(size * s for s in STEPS if size * s >= rough * 0.999)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(number * step, 12) for number in range(first, last + 1)]


@dataclass(frozen=True)
class Row:
    """One effect."""

    told: ReportedClaim
    label: list[str]  # what is compared
    place: str  # experiment, data and scale

    @property
    def seeds(self) -> list[float]:
        """The value of every seed, of an exact claim of every case."""
        return [value for value in self.told["differences"] if value is not None]

    @property
    def bounds(self) -> list[float]:
        """What the effect is held against."""
        _, size = bound(self.told)
        if not size:
            return []
        return [size] if self.told["kind"] == "exact" else [*KINDS[self.told["kind"]].bounds(size)]

    @property
    def shade(self) -> tuple[float, float] | None:
        """Effects too small to matter, from the least to the largest; None without a margin."""
        _, size = bound(self.told)
        return (0.0 if self.exact else -size, size) if size else None

    @property
    def exact(self) -> bool:
        """Whether every case must hold."""
        return is_exact(self.told)

    @property
    def said(self) -> str:
        """Effect and interval."""
        metric = metric_of(self.told["metric"])
        effect = metric.say(self.told["effect"], sign=not self.exact)
        ends = self.told["interval"]
        return f"{effect} {interval(metric, ends)}" if ends else effect

    @property
    def intervals(self) -> list[tuple[str, list[float]]]:
        """What each is called in the style, and its ends; that which decides equivalence last."""
        both = ("", self.told["interval"]), ("inner", self.told.get("interval_equivalence"))
        return [(name, ends) for name, ends in both if ends]

    def values(self) -> list[float]:
        """Everything that the axis must show."""
        ends = [end for _, both in self.intervals for end in both]
        return [self.told["effect"] or 0.0, *ends, *self.seeds, *self.bounds]


@dataclass(frozen=True)
class Forest:
    """Rows on one axis."""

    axis: Axis
    rows: list[Row]

    @property
    def directed(self) -> bool:
        """Whether a row has a better side; an equality has none."""
        return any(row.told["kind"] != "equivalence" for row in self.rows)


def row(told: ReportedClaim, place: str) -> Row | None:
    """The row of an answer; None where nothing was measured."""
    if told["effect"] is None or not all(map(math.isfinite, told["interval"] or [])):
        return None
    return Row(told, contrast(told) if told["kind"] != "exact" else _subject(told), place)


def forests(rows: Iterable[Row]) -> list[Forest]:
    """The rows, those that can be compared on one axis."""
    ordered = sorted(rows, key=_axis_of)
    groups = [list(found) for _, found in itertools.groupby(ordered, _axis_of)]
    return [Forest(_axis(group), group) for group in groups]


def _axis_of(one: Row) -> tuple[str, ...]:
    told = dict(one.told)
    return ("exact",) if one.exact else tuple(str(told[key]) for key in ONE_AXIS)


def _subject(told: ReportedClaim) -> list[str]:
    """What an exact claim measured; where two arms were compared, which."""
    return [metric_in_words(told["metric"], told.get("measures")).named, *contrast(told)]


def _axis(rows: list[Row]) -> Axis:
    values = [value for one in rows for value in one.values() if math.isfinite(value)]
    if rows[0].exact:
        sizes = [max(abs(value), LEAST) for value in values]
        return Axis(min(sizes) / 10, max(*sizes, 1e-3) * 10, True, "distance from 0, logarithmic")
    low, high = min(*values, 0.0), max(*values, 0.0)
    around = AROUND * (high - low or 1.0)
    return Axis(low - around, high + around, False, _axis_name(rows[0].told))


def _axis_name(told: ReportedClaim) -> str:
    """What an axis of effects shows, in the words of the claim; positive is always better."""
    name = metric_in_words(told["metric"], told.get("measures")).axis
    falls = told["better"] == "lower"
    if told["kind"] == "trend":
        factor = factor_label(told["over"])
        change = f"{'fall' if falls else 'rise'} of {name}"
        per = PER[told["scale"]]
        return f"{change} {per} {factor}" if per else f"exponent of {name} over {factor}"
    if told["metric"].endswith("changed"):  # is a difference by itself
        return name
    return f"{'fall of' if falls else 'difference in'} {name}"
