"""Compute the widths that the interval of a planned sweep may have, for power calculations.

The power for a normal mean with estimated variance is an integral over the chi-square distribution
of this variance (with seeds as the only source of noise: the noncentral t). The integral is a mean
over 400 equally likely values of the variance. Each value is combined with a value of the sample
skewness, for which the interval will be corrected.

Before any run, the noise is assumed to be normal and alike in all arms (`PlannedNoise`). The widths
are then those of simulated studies, because they depend on what each study borrows from its arms.

The noise is taken as measured, so the power is as uncertain as the noise: with 5 seeds the standard
deviation is known to a factor of about 1.7 either way. Of the measured skewness, only the part
beyond its standard error is used, because a small sample may look skewed by chance, even if the
noise is normal. The effect is never taken as measured: a plan names the true effect for which the
power is computed.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

from ablate.stats.estimate import Estimate, half_width
from ablate.stats.means import MeanDifference
from ablate.stats.moderated import FEWEST_RUNS, Error, arm_noise
from ablate.stats.skew import correction, standard_error

VALUES = 400  # number of values of the chi-square and of the skewness
# Multiples of this number, modulo 1, cover the unit interval evenly, in an order without a trend.
ENOUGH = 60  # number of seeds that simulated studies have at most
CORRELATION = 0.2  # of the arms over seeds: the median of the committed studies
GOLDEN = (5**0.5 - 1) / 2

Values = Float[np.ndarray, " values"]


@dataclass(frozen=True)
class PlannedNoise:
    """The noise of a claim of a planned study of at least three arms: normal, and alike in all
    arms.

    Args:
        arms: number of arms.
        baseline: number of seeds of the baseline for each seed of another arm.
        paired_variance: variance of the difference of two runs with the same seed.
        sentences: as in `Estimate`.
        sentence_variance: as in `Estimate`.
        pairs: number of seeds, if no other number is planned.
    """

    arms: int
    baseline: float = 1.0
    paired_variance: float = 1.0
    sentences: int = 0
    sentence_variance: float = 0.0
    pairs: int = FEWEST_RUNS

    @property
    def seed_variance(self) -> float:
        """The variance of the effect with a single seed of each arm."""
        unpaired = 1 - 1 / self.baseline  # part of the baseline's runs
        return self.paired_variance * (1 - (1 - CORRELATION) / 2 * unpaired)

    @property
    def error(self) -> float:
        """The standard error of the effect."""
        return planned_error(self, self.pairs)

    def degrees(self, pairs: int) -> float:
        """Return the median of the degrees of freedom in studies with `pairs` seeds."""
        return float(np.median(self.drawn(pairs).df))

    def drawn(self, pairs: int) -> Error:
        """Return the errors that simulated studies with `pairs` seeds would estimate.

        From `ENOUGH` seeds on, errors for a single seed hardly depend on the number of seeds.
        """
        pairs = min(pairs, ENOUGH)
        rng, runs = np.random.default_rng(0), max(pairs, round(pairs * self.baseline))
        scores = (1 - CORRELATION) ** 0.5 * rng.standard_normal((VALUES, self.arms, runs))
        scores += CORRELATION**0.5 * rng.standard_normal((VALUES, 1, runs))
        scores *= (self.paired_variance / (2 * (1 - CORRELATION))) ** 0.5
        scores[:, 1:, pairs:] = np.nan
        noise, weights = arm_noise(scores, unequal=runs > pairs), np.zeros(self.arms)
        assert noise is not None
        weights[:2] = -1.0, 1.0
        groups = np.array([weights != 0, np.arange(self.arms) == 0])[: 1 + (runs > pairs)]
        counts = np.array([pairs, runs - pairs])[: len(groups)]
        return noise.error_of(noise.parts(weights, groups, counts), counts)


def has_spread(estimate: Any) -> bool:
    """Return whether the standard error of the estimate is above 0, as planning requires."""
    return bool(estimate.error > 0)


def planned_error(noise: Any, pairs: int) -> float:
    """Return the standard error of a planned sweep with `pairs` seeds and the noise of an
    estimate.
    """
    return math.sqrt(noise.seed_variance / pairs + noise.sentence_variance)


def half_widths(
    noise: Estimate | MeanDifference | PlannedNoise, pairs: int, tail: float
) -> tuple[Values, Values]:
    """Return likely distances from the estimate of a planned sweep to the lower end, and to the
    upper end, of its confidence interval.

    The distances depend on the variance and the skewness that the sweep will measure. So for each
    end, the result has an array of equally likely values.

    Args:
        noise: an earlier estimate, with the variance and skewness on which the plan is based.
        pairs: number of seeds of the planned sweep.
        tail: probability beyond each end of the interval.
    """
    if isinstance(noise, PlannedNoise):
        if pairs >= FEWEST_RUNS:
            return _drawn_widths(noise, pairs, tail)
        of_sentences = noise.sentences, noise.paired_variance, noise.sentence_variance
        noise = Estimate(0.0, pairs, *of_sentences, skewness=0.0)
    df = noise.degrees(pairs)
    of_seeds = noise.seed_variance / pairs * (1.0 if math.isinf(df) else _chi2(df) / df)

    borrowed = noise.borrowed(pairs) if isinstance(noise, Estimate) else None

    def towards(sign: int) -> Values:
        skew, widening = np.zeros(VALUES), 0.0
        if noise.skewness is not None:
            drawn = _beyond_chance(noise.skewness, noise.pairs) + _skewness(pairs)
            skew = np.array([correction(sign * float(skew_value)) for skew_value in drawn])
        if borrowed is not None:
            skew, widening = skew * borrowed.own_skew, borrowed.widening(sign, pairs)
        sentences = (noise.sentences, noise.sentence_variance)
        widths = half_width(tail, pairs, of_seeds, *sentences, skew, df, widening)
        return np.broadcast_to(widths, VALUES)

    return towards(-1), towards(1)


@lru_cache(maxsize=64)
def _drawn_widths(noise: PlannedNoise, pairs: int, tail: float) -> tuple[Values, Values]:
    drawn, skews = noise.drawn(pairs), _skewness(pairs)
    of_sentences = noise.sentences, noise.sentence_variance

    def towards(sign: int) -> Values:
        bends = np.array([correction(sign * skew) for skew in skews.tolist()]) * drawn.own_skew
        widenings = drawn.widening(sign, pairs)
        of_studies = zip(drawn.variance / pairs, bends, drawn.df, widenings, strict=True)
        widths = [
            half_width(tail, pairs, variance, *of_sentences, bend, float(df), widening)
            for variance, bend, df, widening in of_studies
        ]
        return np.array(widths)

    return towards(-1), towards(1)


def _beyond_chance(skewness: float, seeds: int) -> float:
    """Return the part of a skewness that exceeds its standard error for normal values.

    The result has the sign of the skewness, and is 0 if no part exceeds the standard error.
    """
    return math.copysign(max(0.0, abs(skewness) - standard_error(seeds)), skewness)


@lru_cache(maxsize=64)
def _chi2(df: float) -> Values:
    return np.asarray(2 * special.gammaincinv(df / 2, (np.arange(VALUES) + 0.5) / VALUES))


@lru_cache(maxsize=64)
def _skewness(seeds: int) -> Values:
    """Return equally likely values of the sample skewness of `seeds` results that are normally
    distributed.

    Each value is combined with the value of the variance at the same index of another array. The
    order of the values is such that skewness and variance are not correlated.
    """
    shares = (GOLDEN * (np.arange(VALUES) + 0.5)) % 1
    return np.clip(special.ndtri(shares) * standard_error(seeds), -(seeds**0.5), seeds**0.5)
