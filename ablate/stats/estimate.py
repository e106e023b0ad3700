"""Estimate the mean of paired differences, with intervals and tests over seeds and sentences.

Model: the contribution of sentence i to the difference of seed s is mean + seed_s + sentence_i +
rest_si. The arms of an experiment share their test sentences, so sentence_i does not average out
over seeds. An interval from the variation over seeds alone is therefore too short for a claim
about sentences in general.
Equation: Var(mean) = A + B, with n seeds and m sentences. A is the variance over seeds divided by
n, and includes the rest. B = (MS_sentences - MS_rest) / (n m), with the mean squares (MS) of the
crossed design. The half-width is sqrt(t(n - 1)^2 A + t(m - 1)^2 B), so that each part has the
quantile of its own degrees of freedom.
Source: Clark 1973, The language-as-fixed-effect fallacy, and Owen 2007, arXiv:0712.1658, for A and
B; Howe 1974 and Zou & Donner 2008 (square-and-add) for the half-width. With few seeds, this
interval keeps its level, and an interval with Satterthwaite's degrees of freedom does not. The
quantile for the seeds is corrected for skewness (ablate.stats.corrections). If the noise of all
arms of a study is given, A, its degrees of freedom and its skewness come from them
(ablate.stats.moderated). The method was chosen by its measured coverage:
docs/explanation/calibration.md.

Power: for a normal mean with estimated variance, it is an integral over the chi-square distribution
of this variance (with seeds as the only source of noise: the noncentral t). The integral is a mean
over 400 equally likely values of the variance. Each value is combined with a value of the sample
skewness, for which the interval will be corrected. The noise is taken as measured, so the power is
as uncertain as the noise: with 5 seeds the standard deviation is known to a factor of about 1.7
either way. Of the measured skewness, only the part beyond its standard error is used, because a
small sample may look skewed by chance, even if the noise is normal. The effect is never taken as
measured: a plan names the true effect for which the power is computed.
"""

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy import optimize, special

from ablate.stats import above, at_most, difference
from ablate.stats.corrections import (
    FURTHEST,
    ONCE,
    Fractions,
    corrected_t,
    correction,
    nominal,
    repeated_p_value,
    skewness_of_more_variable_arm,
    skewness_standard_error,
)
from ablate.stats.means import MeanDifference, largest, t_quantile
from ablate.stats.moderated import FEWEST_RUNS, EffectNoise, Error

SMALLEST = math.log(1e-100)  # logarithm of the smallest p-value
LARGEST = 1e150  # largest quantile, so that its square is finite
VALUES = 400  # number of values of the chi-square and of the skewness
# Multiples of this number, modulo 1, cover the unit interval evenly, in an order without a trend.
GOLDEN = (5**0.5 - 1) / 2
Values = Float[np.ndarray, " values"]
Spread = Any  # a number or an array
Units = Literal["seeds", "sentences", "groups of sentences", "blocks of text", "prediction"]


@dataclass(frozen=True)
class Estimate:
    """The mean of paired differences between two arms, with the variances that make up its error.

    The object computes confidence intervals, and tests of the true mean against any value.

    `seed_variance` is the variance of the difference of a single pair of runs; its part in the
    variance of the mean is `seed_variance / pairs`. `sentence_variance` is the part that comes from
    the choice of test sentences, and does not depend on the number of pairs. If both are 0, all
    differences are equal, and a sign test is used.
    """

    effect: float
    pairs: int
    sentences: int  # 0: sentences do not contribute to the error
    seed_variance: float
    sentence_variance: float
    skewness: float | None = None  # skewness of the arm that varies more; None: no correction
    units: Units = "sentences"  # what `sentences` counts
    looks: Fractions = ONCE  # interim analyses, the current one last (ablate.stats.corrections)
    scale: float = 0.0  # largest number from which the effect was computed (ablate.stats)
    # noise of all arms of the study; None: from the differences alone
    arms: EffectNoise | None = field(default=None, compare=False, repr=False)

    def pooled_error(self, pairs: int) -> Error | None:
        """Return the error with `pairs` seeds when variances are pooled over all arms of the study;
        None if this estimate uses only the paired differences.
        """
        return self.arms.error(pairs) if self.arms else None

    @property
    def error(self) -> float:
        """The standard error of the effect; NaN for fewer than two pairs."""
        if self.pairs < 2:
            return math.nan
        return math.sqrt(self.seed_variance / self.pairs + self.sentence_variance)

    def degrees(self, pairs: int) -> float:
        """Return the degrees of freedom of the variance over seeds in a sweep with `pairs` pairs of
        runs.
        """
        error = self.pooled_error(pairs)
        return float(pairs - 1 if error is None else error.df)

    @property
    def noise_sources(self) -> list[Units]:
        """The sources of variation that the interval covers: only seeds, or seeds and test
        sentences.
        """
        return ["seeds", self.units] if self.sentences else ["seeds"]

    @property
    def method(self) -> Literal["none", "sign test", "t", "skewed t", "moderated t"]:
        """The method of the interval.

        It is "none" for a single pair, which has no spread, and "sign test" if all differences are
        equal, so that t does not apply. A "skewed t" is corrected for the skewness of the seeds. A
        "moderated t" borrows variance and skewness from the other arms of the study, too.
        """
        if self.pairs < 2:
            return "none"
        if self.error == 0:
            return "sign test"
        if self.arms:
            return "moderated t"
        return "t" if self.skewness is None else "skewed t"

    def half_width(self, tail: float, sign: int) -> float:
        """Return the distance from the effect to the upper (`sign` 1) or lower (`sign` -1) end of
        the interval.

        `tail` is the probability beyond this end of the interval.
        """
        skew = 0.0 if self.skewness is None else correction(sign * self.skewness)
        df, widening, error = None, 0.0, self.pooled_error(self.pairs)
        if error is not None:
            df, widening = float(error.df), float(error.widening(sign, self.pairs))
            skew *= float(error.own_skew)
        of_seeds = self.seed_variance / self.pairs
        of_sentences = self.sentences, self.sentence_variance
        return float(half_width(tail, self.pairs, of_seeds, *of_sentences, skew, df, widening))

    def p_at_most(self, x: float) -> float:
        """Return the one-sided p-value against the hypothesis that the true effect is at most x."""
        return repeated_p_value(self._tail(difference(self.effect, x, self.scale), -1), self.looks)

    def p_at_least(self, x: float) -> float:
        """Return the one-sided p-value against the hypothesis that the true
        effect is at least x.
        """
        return repeated_p_value(self._tail(difference(x, self.effect, self.scale), 1), self.looks)

    def _tail(self, distance: float, sign: int) -> float:
        if self.pairs < 2:
            return 1.0
        if self.error == 0:
            return 0.5**self.pairs if distance > 0 else 1.0
        if distance <= 0:
            return 1.0 - self._tail(-distance, -sign) if distance < 0 else 0.5
        if self.half_width(math.exp(SMALLEST), sign) <= distance:
            return math.exp(SMALLEST)

        def missing(log_p: float) -> float:
            return self.half_width(math.exp(log_p), sign) - distance

        return math.exp(float(optimize.brentq(missing, SMALLEST, math.log(0.5), xtol=1e-10)))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the two-sided confidence interval at `level`; the interval is infinite if there
        are too few pairs.
        """
        tail = nominal((1 - level) / 2, self.looks)
        if self.pairs < 2 or (self.error == 0 and above(0.5**self.pairs, tail)):
            return -math.inf, math.inf
        return self.effect - self.half_width(tail, -1), self.effect + self.half_width(tail, 1)


def half_width(
    tail: float,
    pairs: int,
    of_seeds: Spread,
    sentences: int,
    of_sentences: Spread,
    skew: Spread = 0.0,
    df: float | None = None,
    widening: float = 0.0,
) -> Spread:
    """Return the distance from an estimate to one end of its confidence interval.

    Args:
        tail: probability beyond this end.
        pairs: number of pairs of runs.
        of_seeds: part of the variance of the mean that is due to seeds.
        sentences: number of test sentences; 0 if they do not contribute to the error.
        of_sentences: part of the variance of the mean that is due to sentences.
        skew: factor of the correction for skewness at this end, as
            `ablate.stats.corrections.correction` returns it.
        df: degrees of freedom of the variance over seeds; default: the number of pairs minus 1.
        widening: part by which the borrowed skewness widens this end.
    """
    degrees = float(pairs - 1 if df is None else df)
    quantile = corrected_t(t_quantile(tail, degrees), t_quantile(FURTHEST, degrees), skew, pairs)
    squared = np.maximum(quantile * (1 + widening), -LARGEST) ** 2 * of_seeds
    if sentences:
        squared = squared + special.stdtrit(sentences - 1, tail) ** 2 * of_sentences
    return np.sqrt(squared)


def estimate(
    differences: Float[np.ndarray, " seeds"],
    contributions: Float[np.ndarray, "seeds sentences"] | None = None,
    added: Float[np.ndarray, " seeds"] | None = None,
    scale: float = 0.0,
) -> Estimate:
    """Return the mean of paired differences, with the variances that make up its error.

    Args:
        differences: difference between the two arms for each seed.
        contributions: contribution of each test sentence to each difference; with `contributions`,
            the error covers the sampling of sentences too.
        added: scores from which the scores of the other arm were subtracted; with `added`, the
            interval is corrected for skewness.
        scale: largest number from which the differences were computed, if not one of `added`.
    """
    n = len(differences)
    computed_from = (differences,) if added is None else (differences, added, added - differences)
    scale = max(scale, *map(largest, computed_from))
    effect = difference(float(differences.mean()), 0.0, scale) if n else math.nan
    if n < 2:
        return Estimate(effect, n, 0, math.nan, math.nan, scale=scale)
    if at_most(float(np.ptp(differences)), 0.0, scale):
        return Estimate(effect, n, 0, 0.0, 0.0, scale=scale)
    spread = float(differences.var(ddof=1))
    skew = None if added is None else skewness_of_more_variable_arm(added, added - differences)
    if contributions is None or contributions.shape[1] < 2:
        return Estimate(effect, n, 0, spread, 0.0, skew, scale=scale)
    # at least 0; variance that the seeds already account for is subtracted, not counted twice
    of_sentences = max(0.0, components(contributions)[1])
    return Estimate(effect, n, contributions.shape[1], spread, of_sentences, skew, scale=scale)


def from_arms(estimate: Estimate, arms: EffectNoise | None) -> Estimate:
    """Return an estimate whose standard error comes from all arms of the study, and whose effect
    comes from all runs of the compared arms, paired or not.

    The estimate is returned unchanged if `arms` is None, or if the estimate has too few pairs, or
    if the variance of its differences is 0 or contradicts the noise of the arms.
    """
    if arms is None or estimate.pairs < FEWEST_RUNS or not estimate.error > 0:
        return estimate
    if not arms.paired_error(estimate.pairs).agrees(estimate.seed_variance, estimate.pairs):
        return estimate
    variance, effect = float(arms.error(estimate.pairs).variance), estimate.effect + arms.shift
    return replace(estimate, effect=effect, seed_variance=variance, arms=arms)


def components(contributions: Float[np.ndarray, "seeds sentences"]) -> tuple[float, float, float]:
    """Return the variance components of seeds, of sentences and of the rest, as a tuple.

    The components of sentences and of the rest are divided by the number of sentences, so that all
    three are variances of the score of one run. An estimate near 0 may be negative.
    """
    n, m = contributions.shape
    of_seeds, of_sentences = contributions.mean(1), contributions.mean(0)
    rest = contributions - of_sentences - of_seeds[:, None] + contributions.mean()
    ms_rest = float((rest**2).sum()) / ((n - 1) * (m - 1))
    ms_seeds = m * float(of_seeds.var(ddof=1))
    ms_sentences = n * float(of_sentences.var(ddof=1))
    return (ms_seeds - ms_rest) / m, (ms_sentences - ms_rest) / (n * m), ms_rest / m


def planned_error(noise: Any, pairs: int) -> float:
    """Return the standard error of a planned sweep with `pairs` seeds and the noise of an
    estimate.
    """
    return math.sqrt(noise.seed_variance / pairs + noise.sentence_variance)


def half_widths(noise: Any, pairs: int, tail: float) -> tuple[Values, Values]:
    """Return likely distances from the estimate of a planned sweep to the lower end, and to the
    upper end, of its confidence interval.

    The distances depend on the variance and the skewness that the sweep will measure. So for each
    end, the result has an array of equally likely values.

    Args:
        noise: an earlier estimate, with the variance and skewness on which the plan is based; or
            the noise of a study without runs (ablate.stats.power).
        pairs: number of seeds of the planned sweep.
        tail: probability beyond each end of the interval.
    """
    if not isinstance(noise, Estimate | MeanDifference):
        return noise.half_widths(pairs, tail)
    df = noise.degrees(pairs)
    of_seeds = noise.seed_variance / pairs * (1.0 if math.isinf(df) else _chi2(df) / df)
    pooled = noise.pooled_error(pairs) if isinstance(noise, Estimate) else None

    def towards(sign: int) -> Values:
        skew, widening = np.zeros(VALUES), 0.0
        if noise.skewness is not None:
            # the part of the measured skewness that exceeds its standard error
            beyond = max(0.0, abs(noise.skewness) - skewness_standard_error(noise.pairs))
            drawn = math.copysign(beyond, noise.skewness) + skewness_by_chance(pairs)
            skew = np.array([correction(sign * float(skew_value)) for skew_value in drawn])
        if pooled is not None:
            skew, widening = skew * pooled.own_skew, pooled.widening(sign, pairs)
        sentences = (noise.sentences, noise.sentence_variance)
        widths = half_width(tail, pairs, of_seeds, *sentences, skew, df, widening)
        return np.broadcast_to(widths, VALUES)

    return towards(-1), towards(1)


@lru_cache(maxsize=64)
def _chi2(df: float) -> Values:
    return np.asarray(2 * special.gammaincinv(df / 2, (np.arange(VALUES) + 0.5) / VALUES))


@lru_cache(maxsize=64)
def skewness_by_chance(seeds: int) -> Values:
    """Return equally likely values of the sample skewness of `seeds` results that are normally
    distributed.

    Each value is combined with the value of the variance at the same index of another array. The
    order of the values is such that skewness and variance are not correlated.
    """
    ranks = (GOLDEN * (np.arange(VALUES) + 0.5)) % 1
    return np.clip(special.ndtri(ranks) * skewness_standard_error(seeds), -(seeds**0.5), seeds**0.5)
