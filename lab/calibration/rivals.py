"""Other intervals for a mean over seeds and sentences, which the calibration compares with ours.

All work on the same contributions of sentences (ablate.evidence.sentence_scores), so that
resampling is three matrix products with weights that are drawn once.
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
    """How often each seed and each sentence is drawn, as shares."""

    seeds: Float[np.ndarray, "resamples seeds"]
    sentences: Float[np.ndarray, "resamples sentences"]

    @classmethod
    def draw(cls, seeds: int, sentences: int, rng: np.random.Generator) -> "Weights":
        """Weights of a bootstrap over both levels."""
        return cls(_shares(seeds, rng), _shares(sentences, rng))


def _shares(n: int, rng: np.random.Generator) -> Float[np.ndarray, "resamples n"]:
    return (rng.multinomial(n, np.full(n, 1 / n), RESAMPLES) / n).astype(np.float32)


def t_over_seeds(parts: Parts, level: float) -> Ends:
    """The paired t-interval: blind to the sentences that the arms share."""
    return estimate(parts.mean(1)).interval(level)


def satterthwaite(parts: Parts, level: float) -> Ends:
    """The same two variances as ours, with one t of Satterthwaite's degrees of freedom."""
    effect = estimate(parts.mean(1), parts)
    of_seeds = effect.seed_variance / effect.pairs
    total = of_seeds + effect.sentence_variance
    df = total**2 / (
        of_seeds**2 / (effect.pairs - 1) + effect.sentence_variance**2 / (effect.sentences - 1)
    )
    half = float(stats.t.ppf((1 + level) / 2, df)) * math.sqrt(total)
    return effect.effect - half, effect.effect + half


def bootstraps(parts: Parts, level: float, weights: Weights) -> tuple[Ends, Ends]:
    """The percentile bootstrap and the bootstrap-t, over both levels."""
    means, errors = _resampled(parts.astype(np.float32), weights)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    low, high = np.quantile(means, tails)
    effect = estimate(parts.mean(1), parts)
    kept = errors > 0  # a resample of one seed alone may have no error
    t_low, t_high = np.quantile((means[kept] - effect.effect) / errors[kept], tails)
    studentised = effect.effect - t_high * effect.error, effect.effect - t_low * effect.error
    return (float(low), float(high)), (float(studentised[0]), float(studentised[1]))


def _resampled(
    parts: Float[np.ndarray, "seeds sentences"], weights: Weights
) -> tuple[Float[np.ndarray, " resamples"], Float[np.ndarray, " resamples"]]:
    """Mean and standard error of every resample."""
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
