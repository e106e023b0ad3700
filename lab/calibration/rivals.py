"""Other intervals for a mean over seeds and sentences, to be compared with those of `ablate`.

All methods use the contributions of sentences to the score (ablate.evidence.sentence_scores). So a
bootstrap needs only a few matrix products with weights that are drawn once.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from ablate.stats.estimate import estimate

RESAMPLES = 500
Parts = Float[np.ndarray, "seeds sentences"]
Ends = tuple[float, float]


@dataclass(frozen=True)
class Weights:
    """Bootstrap weights: the proportion of each seed and of each sentence in every resample."""

    seeds: Float[np.ndarray, "resamples seeds"]
    sentences: Float[np.ndarray, "resamples sentences"]

    @classmethod
    def draw(cls, seeds: int, sentences: int, rng: np.random.Generator) -> "Weights":
        """Return weights of a bootstrap that resamples both the seeds and the sentences."""
        return cls(_shares(seeds, rng), _shares(sentences, rng))


def _shares(n: int, rng: np.random.Generator) -> Float[np.ndarray, "resamples n"]:
    return (rng.multinomial(n, np.full(n, 1 / n), RESAMPLES) / n).astype(np.float32)


def t_over_seeds(parts: Parts, level: float) -> Ends:
    """Return the paired t-interval over seeds, which ignores the variation between sentences."""
    return estimate(parts.mean(1)).interval(level)


def satterthwaite(parts: Parts, level: float) -> Ends:
    """Return an interval with one quantile of t, for Satterthwaite's degrees of freedom.

    The variances of seeds and of sentences are the same as in the interval of `ablate`.
    """
    effect = estimate(parts.mean(1), parts)
    of_seeds = effect.seed_variance / effect.pairs
    total = of_seeds + effect.sentence_variance
    df = total**2 / (
        of_seeds**2 / (effect.pairs - 1) + effect.sentence_variance**2 / (effect.sentences - 1)
    )
    half = float(stats.t.ppf((1 + level) / 2, df)) * math.sqrt(total)
    return effect.effect - half, effect.effect + half


def bootstraps(parts: Parts, level: float, weights: Weights) -> tuple[Ends, Ends]:
    """Return the percentile bootstrap interval and the bootstrap-t interval.

    Both resample seeds and sentences.
    """
    means, errors = _resampled(parts.astype(np.float32), weights)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    low, high = np.quantile(means, tails)
    effect = estimate(parts.mean(1), parts)
    kept = errors > 0  # the error may be 0 if a resample has only one seed
    t_low, t_high = np.quantile((means[kept] - effect.effect) / errors[kept], tails)
    studentised = effect.effect - t_high * effect.error, effect.effect - t_low * effect.error
    return (float(low), float(high)), (float(studentised[0]), float(studentised[1]))


def _resampled(
    parts: Float[np.ndarray, "seeds sentences"], weights: Weights
) -> tuple[Float[np.ndarray, " resamples"], Float[np.ndarray, " resamples"]]:
    """Return the mean and the standard error of every resample."""
    n, m = parts.shape
    of_seeds = weights.sentences @ parts.T  # resamples, seeds
    of_sentences = weights.seeds @ parts  # resamples, sentences
    means = (weights.seeds * of_seeds).sum(1)
    square = (weights.seeds * (weights.sentences @ (parts**2).T)).sum(1) - means**2
    seeds = (weights.seeds * (of_seeds - means[:, None]) ** 2).sum(1)
    sentences = (weights.sentences * (of_sentences - means[:, None]) ** 2).sum(1)
    rest = (square - seeds - sentences) / ((n - 1) * (m - 1))
    shared = np.maximum(sentences / (m - 1) - rest, 0.0)
    return means, np.sqrt(np.maximum(seeds / (n - 1) + shared, 0.0))
