"""Distributions of run-to-run noise, to draw the scores of two arms with equal true means.

An arm with a long tail is usually a little better than its mean, and sometimes much worse.
Lognormal noise with a standard deviation of the logarithm of 0.65 has a skewness of 2.6. It causes
the false verdicts that an independent simulation of this project reported. Exponential noise has a
skewness of 2. With "variance x6", the variance of the treatment is six times the variance of the
baseline. Trends are slopes over three levels of a factor. The variance at the last level is nine
times the variance at the first.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Seeds = Float[np.ndarray, "sweeps seeds"]
Arm = Callable[[tuple[int, int], np.random.Generator], Seeds]
Draw = Callable[[tuple[int, int], np.random.Generator], tuple[Seeds, Seeds]]
RATIO = 6**0.5  # of the standard deviations of two arms whose variances differ sixfold
LEVELS = (1.0, 3**0.5, 3.0)  # standard deviations at the levels of a trend
PLATEAU = (0.3, 6.0)  # proportion of the seeds on a plateau; their loss in standard deviations
SHARED = 1.5  # standard deviation of a seed's effect that both arms share


def normal(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
    """Return normal noise with mean 0 and variance 1, an array of sweeps by seeds.

    All other distributions of an arm have the same mean and variance.
    """
    return rng.standard_normal(shape)


def lognormal(log_deviation: float) -> Arm:
    """Return a function that draws lognormal noise with the long tail downwards.

    `log_deviation` is the standard deviation of the logarithm.
    """
    variance = log_deviation**2
    mean, deviation = np.exp(variance / 2), (np.expm1(variance) * np.exp(variance)) ** 0.5

    def draw(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
        drawn = np.exp(log_deviation * rng.standard_normal(shape))
        return np.asarray((mean - drawn) / deviation)

    return draw


def exponential(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
    """Return exponential noise with the long tail downwards."""
    return 1 - rng.exponential(size=shape)


def heavy(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
    """Return noise with a t distribution with 3 degrees of freedom."""
    return rng.standard_t(3, size=shape) / 3**0.5


def plateau(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
    """Return normal noise in which some seeds are much worse, because they stay on a plateau."""
    share, loss = PLATEAU
    drawn = rng.standard_normal(shape) - loss * ((rng.random(shape) < share) - share)
    return np.asarray(drawn / (1 + share * (1 - share) * loss**2) ** 0.5)


def arms(treatment: Arm, baseline: Arm, ratio: float = 1.0, shared: float = 0.0) -> Draw:
    """Return a function that draws the scores of a treatment and of a baseline.

    Args:
        treatment: draws the noise of the treatment.
        baseline: draws the noise of the baseline.
        ratio: factor by which the noise of the treatment is multiplied.
        shared: standard deviation of an effect of the seed that both arms share.
    """

    def draw(shape: tuple[int, int], rng: np.random.Generator) -> tuple[Seeds, Seeds]:
        of_seed = shared * rng.standard_normal(shape)
        return ratio * treatment(shape, rng) + of_seed, baseline(shape, rng) + of_seed

    return draw


def trend(arm: Arm) -> Draw:
    """Return a function that draws the last and the first level of a trend, whose noise grows.

    Their difference is proportional to the least-squares slope over three equidistant levels.
    """
    first, _, last = LEVELS

    def draw(shape: tuple[int, int], rng: np.random.Generator) -> tuple[Seeds, Seeds]:
        return last * arm(shape, rng), first * arm(shape, rng)

    return draw


# `ablate` promises a limit on false verdicts for these distributions, from 10 seeds on.
PROMISED: dict[str, Draw] = {
    "normal": arms(normal, normal),
    "normal, variance x6": arms(normal, normal, RATIO),
    "lognormal, variance x6": arms(lognormal(0.65), lognormal(0.65), RATIO),
    "lognormal, variance x6, normal baseline": arms(lognormal(0.65), normal, RATIO),
    "exponential, variance x6": arms(exponential, exponential, RATIO),
    "exponential, variance x6, normal baseline": arms(exponential, normal, RATIO),
    "exponential, variance x36": arms(exponential, exponential, 6.0),
    "two lognormal arms alike": arms(lognormal(0.65), lognormal(0.65)),
    "two exponential arms alike": arms(exponential, exponential),
    "t with 3 degrees of freedom": arms(heavy, heavy),
    "t with 3 degrees of freedom, variance x6": arms(heavy, heavy, RATIO),
    "trend, normal": trend(normal),
    "trend, lognormal": trend(lognormal(0.65)),
    "trend, exponential": trend(exponential),
}
# No limit is promised for these distributions. Verdicts say so if the noise is visible.
BEYOND: dict[str, Draw] = {
    "lognormal (0.75), variance x6": arms(lognormal(0.75), lognormal(0.75), RATIO),
    "lognormal (1.0), variance x6": arms(lognormal(1.0), lognormal(1.0), RATIO),
    "lognormal, variance x6, seeds shared": arms(lognormal(0.65), lognormal(0.65), RATIO, SHARED),
    "30 % on a plateau": arms(plateau, normal, (1 + 0.21 * 36) ** 0.5),
}
SHAPES = PROMISED | BEYOND
