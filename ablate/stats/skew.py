"""Correct t intervals for skewed noise.

Suppose that an arm sometimes does much worse than usual. Seeds that miss the bad runs give a mean
that is too high *and* a standard deviation that is too small, so a t test declares the arm better
too often. If two arms vary alike, their tails cancel in the difference. Therefore the correction
uses the skewness of the arm (or weighted sum of arms) that varies more over the seeds.
Equation: at each end of the interval, the quantile q of t becomes q + g q^2 / (3 sqrt n), with n
seeds and g = max(0, 1/2 + 3 s). Here s is the sample skewness of this arm; it is positive if the
long tail of the differences points to this end. The ratio of the corrected to the uncorrected
quantile is kept constant beyond the 2.5 % point of t.
Source: Johnson 1978, Journal of the American Statistical Association 73, 536, for the quantile.
What differs: Johnson takes g = s, the skewness of the differences. Ten seeds underestimate a
skewness of 2 by half, and the noise of the other arm hides the skewness. The two constants in g are
a trade-off between error rate and power (docs/explanation/statistics.md). `python -m
lab.robustness` measures the error rates. Johnson's term is the first of an expansion around the
centre. In the far tail, which Holm's correction needs, this quadratic term would outgrow the
quantile, so that five skewed seeds could not show any effect, however large.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

from ablate.stats.ties import at_most

ALLOWANCE, FACTOR = 0.5, 3.0  # the constants of g = max(0, ALLOWANCE + FACTOR s)
FURTHEST = 0.025  # tail up to which the correction grows with the quantile
VISIBLE = 0.025  # one-sided probability below which a skewness is called visible

Seeds = Float[np.ndarray, " seeds"]
Quantile = Any  # a number, or an array of numbers


def skewness(values: Seeds) -> float:
    """Return the sample skewness, corrected for its bias under normality; 0 for fewer than three
    values.
    """
    n = len(values)
    if n < 3 or at_most(float(np.ptp(values)), 0.0, float(np.abs(values).max())):
        return 0.0
    distances = values - values.mean()
    distances = distances / np.abs(distances).max()  # so that powers cannot overflow
    spread = (distances**2).mean()
    return float((distances**3).mean() / spread**1.5 * (n * (n - 1)) ** 0.5 / (n - 2))


def of_wider(plus: Seeds, minus: Seeds) -> float:
    """Return the skewness of the arm that varies more over the seeds: `plus` or `minus`.

    The sign is reversed for `minus`, whose scores are subtracted in the difference.
    """
    return skewness(plus) if plus.std() >= minus.std() else -skewness(minus)


def correction(towards: float) -> float:
    """Return g, the factor of the correction for skewness (see the equation of this module), for
    one end of the t interval.

    `towards` is the sample skewness, positive if the long tail points to this end.
    """
    return max(0.0, ALLOWANCE + FACTOR * towards)


def corrected(quantile: float, furthest: float, skew: Quantile, seeds: int) -> Quantile:
    """Return a lower quantile of t after the correction for skewness.

    Args:
        quantile: uncorrected quantile, at most 0.
        furthest: uncorrected quantile for the tail probability FURTHEST; further out, the
            correction grows only in proportion to the quantile.
        skew: result of `correction`.
        seeds: number of differences.
    """
    return quantile - skew * quantile * max(quantile, furthest) / (3 * math.sqrt(seeds))


def uncorrected(t: float, furthest: float, skew: float, seeds: int) -> float:
    """Return the quantile for which `corrected` returns `t`; this is the inverse of `corrected`.

    Args:
        t: corrected quantile, at most 0.
        furthest, skew, seeds: the other arguments of `corrected`.
    """
    bend = skew / (3 * math.sqrt(seeds))
    quantile = 2 * t / (1 + math.sqrt(1 - 4 * bend * t))
    return quantile if quantile >= furthest else t / (1 - bend * furthest)


def standard_error(seeds: int) -> float:
    """Return the standard deviation of the sample skewness of `seeds` normal values."""
    n = max(seeds, 3)
    return float((6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3))) ** 0.5)


def is_visible(skewness: float, seeds: int) -> bool:
    """Return whether a sample skewness of this size, of either sign, is rare in normal values."""
    return abs(skewness) > -float(special.ndtri(VISIBLE)) * standard_error(seeds)
