"""Assume the noise of a study before any run: normal, and alike in all arms.

The widths of its intervals are those of simulated studies, because they depend on what each study
borrows from its arms.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ablate.stats.corrections import correction
from ablate.stats.estimate import (
    VALUES,
    Estimate,
    Values,
    half_width,
    half_widths,
    planned_error,
    skewness_by_chance,
)
from ablate.stats.moderated import FEWEST_RUNS, Error, arm_noise

ENOUGH = 60  # number of seeds that simulated studies have at most
CORRELATION = 0.2  # of the arms over seeds: the median of the committed studies


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
        return float(np.median(self.simulate_errors(pairs).df))

    def simulate_errors(self, pairs: int) -> Error:
        """Return the errors that simulated studies with `pairs` seeds would estimate.

        At most `ENOUGH` seeds are simulated, because beyond that number the error for a single seed
        hardly changes.
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

    def half_widths(self, pairs: int, tail: float) -> tuple[Values, Values]:
        """Return likely half-widths of the interval, as `ablate.stats.estimate.half_widths`."""
        of_sentences = self.sentences, self.paired_variance, self.sentence_variance
        if pairs < FEWEST_RUNS:
            return half_widths(Estimate(0.0, pairs, *of_sentences, skewness=0.0), pairs, tail)
        return _simulated_half_widths(self, pairs, tail)


@lru_cache(maxsize=64)
def _simulated_half_widths(noise: PlannedNoise, pairs: int, tail: float) -> tuple[Values, Values]:
    """Return the half-widths below and above the effect, of the intervals of simulated studies."""
    errors, skews = noise.simulate_errors(pairs), skewness_by_chance(pairs)
    of_sentences = noise.sentences, noise.sentence_variance

    def towards(sign: int) -> Values:
        bends = np.array([correction(sign * skew) for skew in skews.tolist()]) * errors.own_skew
        widenings = errors.widening(sign, pairs)
        of_studies = zip(errors.variance / pairs, bends, errors.df, widenings, strict=True)
        widths = [
            half_width(tail, pairs, variance, *of_sentences, bend, float(df), widening)
            for variance, bend, df, widening in of_studies
        ]
        return np.array(widths)

    return towards(-1), towards(1)
