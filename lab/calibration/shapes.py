"""Shapes of run-to-run noise, as two sums that a contrast subtracts; their means are equal.

An arm with a long tail mostly does a little better than its mean and sometimes much worse.
Lognormal noise with a standard deviation of the logarithm of 0.65 has a skewness of 2.6 and makes
the false verdicts that an independent simulation of this project reported; exponential noise has
a skewness of 2. With "variance x6" the treatment varies six times as much as the baseline. Trends
are slopes over three levels, at the last of which the variance is nine times that at the first.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Seeds = Float[np.ndarray, "sweeps seeds"]
Arm = Callable[[tuple[int, int], np.random.Generator], Seeds]
Draw = Callable[[tuple[int, int], np.random.Generator], tuple[Seeds, Seeds]]
RATIO = 6**0.5  # of the standard deviations of two arms whose variances differ sixfold
LEVELS = (1.0, 3**0.5, 3.0)  # standard deviations at the levels of a trend
PLATEAU = (0.3, 6.0)  # share of the seeds on a plateau, and what they lose, in standard deviations
SHARED = 1.5  # standard deviation of what a seed does to both arms alike


def normal(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
    """Draw normal noise of mean 0 and variance 1, as all shapes here."""
    return rng.standard_normal(shape)


def lognormal(log_deviation: float) -> Arm:
    """Return lognormal noise with its long tail downwards."""
    variance = log_deviation**2
    mean, deviation = np.exp(variance / 2), (np.expm1(variance) * np.exp(variance)) ** 0.5

    def draw(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
        drawn = np.exp(log_deviation * rng.standard_normal(shape))
        return np.asarray((mean - drawn) / deviation)

    return draw


def exponential(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
    """Draw exponential noise with its long tail downwards."""
    return 1 - rng.exponential(size=shape)


def heavy(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
    """Draw noise of a t distribution with 3 degrees of freedom."""
    return rng.standard_t(3, size=shape) / 3**0.5


def plateau(shape: tuple[int, int], rng: np.random.Generator) -> Seeds:
    """Draw normal noise of which some seeds stay on a plateau."""
    share, loss = PLATEAU
    drawn = rng.standard_normal(shape) - loss * ((rng.random(shape) < share) - share)
    return np.asarray(drawn / (1 + share * (1 - share) * loss**2) ** 0.5)


def arms(treatment: Arm, baseline: Arm, ratio: float = 1.0, shared: float = 0.0) -> Draw:
    """Return two arms, of which the treatment's standard deviation is `ratio` times as large."""

    def draw(shape: tuple[int, int], rng: np.random.Generator) -> tuple[Seeds, Seeds]:
        of_seed = shared * rng.standard_normal(shape)
        return ratio * treatment(shape, rng) + of_seed, baseline(shape, rng) + of_seed

    return draw


def trend(arm: Arm) -> Draw:
    """Return the two halves of a least-squares slope over levels whose noise grows."""
    first, _, last = LEVELS

    def draw(shape: tuple[int, int], rng: np.random.Generator) -> tuple[Seeds, Seeds]:
        return last * arm(shape, rng), first * arm(shape, rng)

    return draw


# Here the promise is kept from 10 seeds on.
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
# Here it is not, and verdicts say so where the noise can be seen.
BEYOND: dict[str, Draw] = {
    "lognormal (0.75), variance x6": arms(lognormal(0.75), lognormal(0.75), RATIO),
    "lognormal (1.0), variance x6": arms(lognormal(1.0), lognormal(1.0), RATIO),
    "lognormal, variance x6, seeds shared": arms(lognormal(0.65), lognormal(0.65), RATIO, SHARED),
    "30 % on a plateau": arms(plateau, normal, (1 + 0.21 * 36) ** 0.5),
}
SHAPES = PROMISED | BEYOND
