"""Compute the widths that the interval of a planned sweep may have, for power calculations.

The power for a normal mean with estimated variance is an integral over the chi-square distribution
of this variance (with seeds as the only source of noise: the noncentral t). The integral is a mean
over 400 equally likely values of the variance. Each value is combined with a value of the sample
skewness, for which the interval will be corrected.

The noise is taken as measured, so the power is as uncertain as the noise: with 5 seeds the standard
deviation is known to a factor of about 1.7 either way. Of the measured skewness, only the part
beyond its standard error is used, because a small sample may look skewed by chance, even if the
noise is normal. The effect is never taken as measured: a plan names the true effect for which the
power is computed.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

from ablate.stats.estimate import Estimate, half_width
from ablate.stats.means import MeanDifference
from ablate.stats.skew import correction, standard_error

VALUES = 400  # number of values of the chi-square and of the skewness
# Multiples of this number, modulo 1, cover the unit interval evenly, in an order without a trend.
GOLDEN = (5**0.5 - 1) / 2

Values = Float[np.ndarray, " values"]


def has_spread(estimate: Any) -> bool:
    """Return whether the standard error of the estimate is above 0, as planning requires."""
    return bool(estimate.error > 0)


def planned_error(noise: Any, pairs: int) -> float:
    """Return the standard error of a planned sweep with `pairs` seeds and the noise of an
    estimate.
    """
    return math.sqrt(noise.seed_variance / pairs + noise.sentence_variance)


def half_widths(noise: Estimate | MeanDifference, pairs: int, tail: float) -> tuple[Values, Values]:
    """Return likely distances from the estimate of a planned sweep to the lower end, and to the
    upper end, of its confidence interval.

    The distances depend on the variance and the skewness that the sweep will measure. So for each
    end, the result has an array of equally likely values.

    Args:
        noise: an earlier estimate, with the variance and skewness on which the plan is based.
        pairs: number of seeds of the planned sweep.
        tail: probability beyond each end of the interval.
    """
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
