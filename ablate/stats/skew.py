"""A correction of the t interval for skewed noise.

An arm that sometimes does much worse than it mostly does has a problem: seeds that miss the bad
runs give a mean that is too high *and* a spread that is too small. So t calls the arm better too
often. Two arms that vary alike do not have the problem, because their tails cancel in the
difference. What counts is therefore the skewness of the sum that varies more over the seeds, of the
two that a contrast subtracts.
Equation: at either end of the interval the quantile q of the seeds' t becomes
q + g q^2 / (3 sqrt n), with n seeds and g = max(0, 1/2 + 3 s); s is that sample skewness, positive
where the tail of the differences is long towards that end. Beyond the 2.5 % point q of t the ratio
of both quantiles is that at q.
Source: Johnson 1978, Journal of the American Statistical Association 73, 536, for the quantile.
What differs: Johnson takes g = s, the skewness of the differences. Ten seeds underestimate a
skewness of 2 by half, and the other arm's noise hides it. The two constants are a point on the
curve of level against power in docs/statistics.md, `python -m lab.robustness` draws it. His term is
the first of an expansion around the centre. Far out, where Holm's correction looks, its square
outgrows the quantile: five skewed seeds could not show any effect, however large.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

ALLOWANCE, FACTOR = 0.5, 3.0  # of the skewness that the interval is corrected for
FURTHEST = 0.025  # tail up to which the correction grows with the quantile
VISIBLE = 0.025  # chance that normal seeds look so skewed, on each side

Seeds = Float[np.ndarray, " seeds"]
Quantile = Any  # a number, or an array of them


def skewness(values: Seeds) -> float:
    """Return the sample skewness, adjusted for its bias under normality; 0 for fewer than three."""
    n = len(values)
    if n < 3 or not np.ptp(values):
        return 0.0
    distances = values - values.mean()
    distances = distances / np.abs(distances).max()  # whose powers cannot overflow
    spread = (distances**2).mean()
    return float((distances**3).mean() / spread**1.5 * (n * (n - 1)) ** 0.5 / (n - 2))


def of_wider(plus: Seeds, minus: Seeds) -> float:
    """Return the skewness of the sum that varies more, as it enters the difference of the two."""
    return skewness(plus) if plus.std() >= minus.std() else -skewness(minus)


def correction(towards: float) -> float:
    """Return what an end of the interval is corrected for; `towards`: the skewness to that end."""
    return max(0.0, ALLOWANCE + FACTOR * towards)


def corrected(quantile: float, furthest: float, skew: Quantile, seeds: int) -> Quantile:
    """Return a lower quantile of t after its correction.

    Args:
        quantile: that of the tail that is asked for, below 0.
        furthest: that of the tail FURTHEST.
        skew: what `correction` gives.
        seeds: the number of differences.
    """
    return quantile - skew * quantile * max(quantile, furthest) / (3 * math.sqrt(seeds))


def uncorrected(t: float, furthest: float, skew: float, seeds: int) -> float:
    """Return the quantile of t, at most 0, that `corrected` turns into this one."""
    bend = skew / (3 * math.sqrt(seeds))
    quantile = 2 * t / (1 + math.sqrt(1 - 4 * bend * t))
    return quantile if quantile >= furthest else t / (1 - bend * furthest)


def standard_error(seeds: int) -> float:
    """Return the standard deviation of the sample skewness of so many normal seeds."""
    n = max(seeds, 3)
    return float((6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3))) ** 0.5)


def is_visible(skewness: float, seeds: int) -> bool:
    """Return whether normal seeds rarely look so skewed."""
    return abs(skewness) > -float(special.ndtri(VISIBLE)) * standard_error(seeds)
