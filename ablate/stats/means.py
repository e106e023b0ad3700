"""Compare means of paired or unpaired runs by Student's t.

An effect is a weighted sum of means. Its variance is the sum of independent parts: one per arm, or
one over the differences of pairs. The variance of a part is measured on its arm, with n - 1 degrees
of freedom. The degrees of freedom of the sum are Satterthwaite's, so that two arms give Welch's
test. The quantile of t may be corrected for the skewness of the arm whose mean varies most
(ablate.stats.corrections), as it is for the paired seeds of a sweep. Without this correction, the
tests are those of textbooks.
Source: Welch 1947, Biometrika 34, 28; Satterthwaite 1946, Biometrics Bulletin 2, 110.
Differs: where no run of any arm varies, the p-value is that of the permutation test.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy import special

from ablate.stats import above, at_most, difference
from ablate.stats.corrections import (
    FURTHEST,
    ONCE,
    Fractions,
    corrected_t,
    correction,
    skewness,
    uncorrected_t,
)

Values = Float[np.ndarray, " runs"]
NoiseSource = Literal["runs", "blocks of text"]


@dataclass(frozen=True)
class VarianceTerm:
    """One of the independent terms whose sum is the variance of an effect.

    Args:
        variance: variance of a run, or of the difference of a pair.
        df: degrees of freedom of the variance; infinite if the variance is exact.
        weight: the squared weight of the arm.
        runs: number of runs of the arm.
        fixed: whether the degrees of freedom do not depend on the runs of the arm.
    """

    variance: float
    df: float
    weight: float
    runs: float
    fixed: bool = False

    @property
    def of_mean(self) -> float:
        """The contribution of this term to the variance of the estimated effect."""
        return self.variance * self.weight / self.runs

    def planned_variance(self, runs: int) -> tuple[float, float]:
        """Return the contribution of this term to the variance of a planned effect, and the degrees
        of freedom of this contribution.

        `runs` is the planned number of runs of each arm.
        """
        df = self.df if self.fixed else float(runs - 1)
        return self.variance * self.weight / runs, df


@dataclass(frozen=True)
class MeanDifference:
    """A weighted sum of the means of arms, such as a difference, with the parts of its variance.

    The object computes confidence intervals, and tests of the true sum against any value.

    Args:
        effect: the weighted sum; positive if the treatment is better.
        parts: independent terms of its variance; empty if there are too few runs.
        method: name of the test, for reports.
        counts: number of runs of each arm, or only the number of pairs.
        tied: one-sided p-value to be used if the runs of no arm vary.
        skewness: skewness of the arm whose mean varies most, with the sign of its weight; None: no
            correction for skewness.
        skewed: number of runs of that arm.
        scale: largest number from which the effect was computed (ablate.stats).
        noise_sources: the sources of variation that the interval covers.
    """

    effect: float
    parts: tuple[VarianceTerm, ...]
    method: str
    counts: tuple[int, ...]
    tied: float = 1.0
    skewness: float | None = None
    skewed: int = 0
    scale: float = 0.0
    noise_sources: tuple[NoiseSource, ...] = ("runs",)

    looks: Fractions = ONCE
    sentences = 0
    sentence_variance = 0.0

    @property
    def error(self) -> float:
        """The standard error of the effect; NaN if there are too few runs."""
        return math.sqrt(sum(part.of_mean for part in self.parts)) if self.parts else math.nan

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom; infinite if all variances are exact."""
        return _satterthwaite([(part.of_mean, part.df) for part in self.parts])

    @property
    def seed_variance(self) -> float:
        """The variance that the effect would have with one run of each arm; used for planning."""
        return sum(part.variance * part.weight for part in self.parts)

    @property
    def pairs(self) -> int:
        """The number of runs per arm that would give the same standard error if all arms had
        equally many runs.
        """
        if not self.parts or self.error == 0:
            return min(self.counts, default=0)
        return max(1, round(self.seed_variance / self.error**2))

    def degrees(self, pairs: int) -> float:
        """Return the degrees of freedom of a plan with `pairs` runs of each arm."""
        return _satterthwaite([part.planned_variance(pairs) for part in self.parts])

    def p_at_most(self, x: float) -> float:
        """Return the one-sided p-value against the hypothesis that the true effect is at most x."""
        return self._tail(difference(self.effect, x, self.scale), -1)

    def p_at_least(self, x: float) -> float:
        """Return the one-sided p-value against the hypothesis that the true
        effect is at least x.
        """
        return self._tail(difference(x, self.effect, self.scale), 1)

    def _tail(self, distance: float, sign: int) -> float:
        if not self.parts:
            return 1.0
        if self.error == 0:
            return self.tied if distance > 0 else 1.0
        if distance < 0:
            return 1.0 - self._tail(-distance, -sign)
        t = -distance / self.error
        if self.skewness is not None:
            skew, furthest = correction(sign * self.skewness), t_quantile(FURTHEST, self.df)
            t = uncorrected_t(t, furthest, skew, self.skewed)
        return float(special.ndtr(t) if math.isinf(self.df) else special.stdtr(self.df, t))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the two-sided confidence interval at `level`; the interval is infinite if there
        are too few runs.
        """
        tail = (1 - level) / 2
        if not self.parts or (self.error == 0 and above(self.tied, tail)):
            return -math.inf, math.inf
        return self.effect - self._half_width(tail, -1), self.effect + self._half_width(tail, 1)

    def _half_width(self, tail: float, sign: int) -> float:
        t = t_quantile(tail, self.df)
        if self.skewness is not None:
            skew, furthest = correction(sign * self.skewness), t_quantile(FURTHEST, self.df)
            t = corrected_t(t, furthest, skew, self.skewed)
        return -t * self.error


def t_quantile(p: float, df: float) -> float:
    """Return the quantile of Student's t for the probability p."""
    return float(special.ndtri(p) if math.isinf(df) else special.stdtrit(df, p))


def _satterthwaite(parts: Sequence[tuple[float, float]]) -> float:
    """Return the degrees of freedom of a sum of variances by Satterthwaite's approximation.

    `parts` has each variance with its degrees of freedom.
    """
    whole = sum(variance for variance, _ in parts)
    if not whole or any(not df for _, df in parts):
        return min((df for _, df in parts), default=math.nan)
    spread = sum((variance / whole) ** 2 / df for variance, df in parts)
    return 1 / spread if spread else math.inf


def variance_term(values: Values, weight: float = 1.0, scale: float = 0.0) -> VarianceTerm | None:
    """Return the term of an arm in the variance of an effect; None for fewer than two runs.

    Args:
        values: the runs of the arm.
        weight: the squared weight of the arm.
        scale: the largest number from which the values were computed. It decides which differences
            are rounding errors; by default, the largest value does.
    """
    n = len(values)
    if n < 2:
        return None
    alike = at_most(float(np.ptp(values)), 0.0, max(scale, largest(values)))
    return VarianceTerm(0.0 if alike else float(values.var(ddof=1)), n - 1.0, weight, float(n))


def largest(values: Values) -> float:
    """Return the largest distance of a value from 0; 0 if there are no values."""
    return float(np.abs(values).max(initial=0.0))


def contrast(arms: Sequence[Values], weights: Sequence[float], method: str) -> MeanDifference:
    """Return the weighted sum of the means of independent arms, corrected for the skewness of the
    arm whose mean varies most.

    The effect is NaN if an arm has no runs. The sum has no standard error if an arm has one run.

    Args:
        arms: values of the runs of each arm.
        weights: weight of each arm's mean.
        method: name of the test, for reports.
    """
    counts = tuple(len(arm) for arm in arms)
    if not all(counts):
        return MeanDifference(math.nan, (), method, counts)
    terms = [w * float(arm.mean()) for w, arm in zip(weights, arms, strict=True)]
    scale = max(map(abs, terms))
    effect = difference(sum(terms), 0.0, scale)
    each = zip(arms, weights, strict=True)
    parts = tuple(part for arm, w in each if (part := variance_term(arm, w**2)))
    if len(parts) < len(arms):
        return MeanDifference(effect, (), method, counts, scale=scale)
    orders = math.lgamma(sum(counts) + 1) - sum(math.lgamma(runs + 1) for runs in counts)
    widest = int(np.argmax([part.of_mean for part in parts]))
    skew = math.copysign(1.0, weights[widest]) * skewness(arms[widest])
    tied = math.exp(-orders)
    return MeanDifference(effect, parts, method, counts, tied, skew, counts[widest], scale)


def mean_of(values: Values, method: str, scale: float) -> MeanDifference:
    """Return the mean of a sample for a test against 0, corrected for its skewness.

    Args:
        values: the sample.
        method: name of the test, for reports.
        scale: the largest number from which the values were computed.
    """
    n = len(values)
    if not n:
        return MeanDifference(math.nan, (), method, (0,))
    scale = max(scale, largest(values))
    part = variance_term(values, scale=scale)
    parts = (part,) if part else ()
    effect = difference(float(values.mean()), 0.0, scale)
    return MeanDifference(effect, parts, method, (n,), 0.5**n, skewness(values), n, scale)


def slope(x: Values, y: Values, method: str) -> MeanDifference:
    """Return the least-squares slope of y over x, assuming equal noise at every x.

    The slope is NaN if all values of x are equal. With fewer than three runs, it has no standard
    error.
    """
    n, spread = len(x), float(((x - x.mean()) ** 2).sum()) if len(x) else 0.0
    if n < 2 or not spread:
        return MeanDifference(math.nan, (), method, (n,))
    scale = float(np.abs(x - x.mean()).sum()) / spread * largest(y)
    effect = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    effect = difference(effect, 0.0, scale)
    rest = y - y.mean() - effect * (x - x.mean())
    if n < 3:
        return MeanDifference(effect, (), method, (n,), scale=scale)
    exact = at_most(float(np.ptp(rest)), 0.0, largest(y))
    squares = 0.0 if exact else float((rest**2).sum())
    _, counts = np.unique(x, return_counts=True)
    orders = math.lgamma(n + 1) - sum(math.lgamma(count + 1) for count in counts.tolist())
    parts = (VarianceTerm(squares / (n - 2) * n / spread, n - 2.0, 1.0, float(n)),)
    return MeanDifference(effect, parts, method, (n,), math.exp(-orders), scale=scale)
