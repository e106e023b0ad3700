"""Compare two proportions of runs exactly, by Barnard's test and the interval that inverts it.

The p-value of "p1 - p2 <= delta" is the probability of a table at least as extreme, at the worst
value of the nuisance parameter p2; the 2 x 2 tables of counts are ordered by the score statistic.
At delta = 0 this is Barnard's test with the pooled variance.
Source: Barnard 1945; Chan & Zhang 1999, Biometrics 55, 1202 (interval); Farrington & Manning 1990,
Statistics in Medicine 9, 1447, section 2 (score statistic).
Differs: the worst value of p2 is searched on a grid of 201 values.
Expect: p-values that are slightly too large (conservative). Runs of the same seed count as
independent, though they share their data.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float
from scipy import special

from ablate.stats import above
from ablate.stats.corrections import ONCE, Fractions, repeated_p_value

GRID = 201
LARGEST = 40_000  # largest number of tables that are enumerated
DIGITS = 9  # statistics that agree to this many digits are ties
STEPS = 20  # steps of bisection: the ends are exact to 2e-6

Table = Float[np.ndarray, "a b"]


@dataclass(frozen=True)
class Rates:
    """A comparison of two proportions: `first` events in `of_first` runs against `second` events in
    `of_second` runs.
    """

    first: int
    of_first: int
    second: int
    of_second: int
    looks: Fractions = ONCE  # interim analyses, the current one last

    @property
    def effect(self) -> float:
        """The difference of the proportions; NaN if an arm has no run."""
        if not self.is_known:
            return math.nan
        return self.first / self.of_first - self.second / self.of_second

    @property
    def is_known(self) -> bool:
        """Whether both arms have at least one run, so that the proportions can be computed."""
        return self.of_first > 0 and self.of_second > 0

    @property
    def pairs(self) -> int:
        """The number of runs of the smaller arm."""
        return min(self.of_first, self.of_second)

    noise_sources: ClassVar[list[Literal["runs"]]] = ["runs"]
    method: ClassVar[Literal["Barnard"]] = "Barnard"

    def p_at_most(self, x: float) -> float:
        """Return the one-sided p-value against the hypothesis that the true
        difference is at most x.
        """
        if not self.is_known:
            return 1.0
        if abs(x) > 1:  # no two proportions differ by so much
            return float(x > 1)
        if self.of_first * self.of_second > LARGEST:
            return repeated_p_value(self._p_of_many(x), self.looks)
        p = float(p_values(self.of_first, self.of_second, x)[self.first, self.second])
        return repeated_p_value(p, self.looks)

    def _p_of_many(self, x: float) -> float:
        """Return the p-value of the null hypothesis "the true difference is at most x" by the
        normal approximation.

        It is used for arms with too many runs for the exact test, which enumerates all tables.
        """
        share1, share2 = self.first / self.of_first, self.second / self.of_second
        ratio = self.of_second / self.of_first
        p1 = float(_constrained(np.full((1, 1), share1), np.full((1, 1), share2), ratio, x)[0, 0])
        p2 = min(max(p1 - x, 0.0), 1.0)
        error = math.sqrt(p1 * (1 - p1) / self.of_first + p2 * (1 - p2) / self.of_second)
        distance = share1 - share2 - x
        return float(special.ndtr(-distance / error)) if error else float(distance <= 0)

    def p_at_least(self, x: float) -> float:
        """Return the one-sided p-value against the hypothesis that the true
        difference is at least x.
        """
        return self._mirrored.p_at_most(-x)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the two-sided confidence interval: the differences that neither one-sided test
        rejects.
        """
        if not self.is_known:
            return -math.inf, math.inf
        return self._lower((1 - level) / 2), -self._mirrored._lower((1 - level) / 2)

    def splits(self) -> Iterator["Rates"]:
        """Yield every comparison with the same numbers of runs and the same total number of
        events.
        """
        events = self.first + self.second
        for first in range(max(0, events - self.of_second), min(events, self.of_first) + 1):
            yield replace(self, first=first, second=events - first)

    @property
    def _mirrored(self) -> "Rates":
        return Rates(self.second, self.of_second, self.first, self.of_first, self.looks)

    def _lower(self, tail: float) -> float:
        low, high = -1.0, self.effect
        if above(self.p_at_most(low), tail):
            return low
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if above(self.p_at_most(middle), tail) else (middle, high)
        return low


def share_interval(events: int, runs: int, level: float) -> tuple[float, float]:
    """Return the exact interval of a proportion (Clopper and Pearson); from 0 to 1 without runs."""
    from scipy import stats  # here, because it takes longer to import than the rest of the module

    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, events, runs - events + 1)) if events else 0.0
    high = float(stats.beta.ppf(1 - tail, events + 1, runs - events)) if events < runs else 1.0
    return low, high


@lru_cache(maxsize=256)
def p_values(of_first: int, of_second: int, delta: float) -> Table:
    """Return the one-sided p-values against "the difference of the proportions is at most delta".

    Entry [i, j] belongs to i events in `of_first` runs and j events in `of_second` runs.
    """
    from scipy import stats

    low, high = max(0.0, -delta), min(1.0, 1.0 - delta)
    p2 = np.clip(low + (high - low) * np.arange(GRID)[:, None] / (GRID - 1), 0.0, 1.0)
    p1 = np.clip(p2 + delta, 0.0, 1.0)
    ones = np.asarray(stats.binom.pmf(np.arange(of_first + 1), of_first, p1))
    twos = np.asarray(stats.binom.pmf(np.arange(of_second + 1), of_second, p2))
    statistic = np.round(_score(of_first, of_second, delta), DIGITS).ravel()
    order = np.argsort(-statistic, kind="stable")
    chances = (ones[:, :, None] * twos[:, None, :]).reshape(GRID, -1)[:, order].cumsum(1)
    # tied tables enter together: each gets the probability up to the last of them
    last = np.searchsorted(-statistic[order], -statistic, side="right") - 1
    worst = np.minimum(chances.max(0), 1.0)
    return worst[last].reshape(of_first + 1, of_second + 1)


def _score(n1: int, n2: int, delta: float) -> Table:
    """Return the score statistic of every possible 2 x 2 table with `n1` runs of the first arm and
    `n2` runs of the second.

    The statistic is the observed difference of the proportions minus delta, divided by the standard
    error that this difference has if the true difference is delta. Entry [i, j] belongs to i events
    in the first arm and j events in the second.
    """
    first, second = np.indices((n1 + 1, n2 + 1))
    share1, share2 = first / n1, second / n2
    p1 = _constrained(share1, share2, n2 / n1, delta)
    p2 = np.clip(p1 - delta, 0.0, 1.0)
    error = np.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2)
    distance = share1 - share2 - delta
    # if only this table is possible, only the sign counts, except for rounding errors
    sure = np.sign(np.round(distance, DIGITS)) * 1e6
    return np.divide(distance, error, out=sure, where=error > 1e-6)


def _constrained(share1: Table, share2: Table, ratio: float, delta: float) -> Table:
    """Return the most likely value of p1, the true proportion in the first arm, if p1 - p2 = delta.

    This maximum-likelihood estimate is the root of a cubic, in closed form.

    Args:
        share1: observed proportions in the first arm.
        share2: observed proportions in the second arm.
        ratio: runs of the second arm divided by runs of the first arm.
        delta: difference of the true proportions.
    """
    a = 1 + ratio
    b = -(1 + ratio + share1 + ratio * share2 + delta * (ratio + 2))
    c = delta**2 + delta * (2 * share1 + ratio + 1) + share1 + ratio * share2
    d = -share1 * delta * (1 + delta)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = np.copysign(np.sqrt(np.maximum(b**2 / (3 * a) ** 2 - c / (3 * a), 0.0)), v)
    cube = np.where(u == 0, 1.0, u**3)
    w = (math.pi + np.arccos(np.clip(v / cube, -1.0, 1.0))) / 3
    return np.clip(2 * u * np.cos(w) - b / (3 * a), max(0.0, delta), min(1.0, 1.0 + delta))
