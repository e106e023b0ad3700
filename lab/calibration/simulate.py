"""Made-up runs whose true BLEU is known: what the calibration judges.

Each word of a translation is right with a chance whose logit is the arm's level + an effect of the
seed + one of the sentence, shared by all arms + one of arm and sentence; an n-gram matches where
its n words are right. So the counts that BLEU is made of are whole numbers that vary between seeds,
between sentences, and in what remains, and the expected counts are known in closed form.
The sizes of the effects in `KINDS` are chosen so that the noise is that of real runs; MEASURED
holds that noise, as `python -m lab.noise` gives it.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import optimize, special

from ablate.metric.bleu import bleu_of_resamples

LENGTHS = np.arange(5, 12)  # of the references, in words, equally likely
DROPPED = 0.35  # chance that a translation is a word shorter than its reference
ORDERS = 4
ENDLESS = 10**9  # sentences: BLEU is made of whole numbers
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


@dataclass(frozen=True)
class Noise:
    """Standard deviations on the scale of the logit."""

    seeds: tuple[float, ...]  # of each arm
    sentence: float  # shared by all arms
    arm: float  # of arm and sentence


LEVEL = 1.6  # of the baseline: about 55 BLEU
# Standard deviations of a difference in BLEU (seed, sentence, rest) on 3,000 sentences: of
# preln_vs_postln (12 seeds) and of preln_vs_postln_depth (7, where both arms finished).
MEASURED = {
    "pre_ln - post_ln with warm-up": (1.32, 0.11, 0.49),
    "pre_ln - post_ln of six layers, where post_ln fails": (1.47, 0.48, 0.42),
    "pre_ln - post_ln without warm-up, where post_ln varies": (4.59, 0.20, 0.49),
}
KINDS = {
    "similar arms": Noise((0.057,) * 4, 1.5, 0.2),
    "distinct arms": Noise((0.08,) * 4, 1.5, 1.1),
    "unequal variances": Noise((0.08, 0.29, 0.29, 0.29), 1.5, 0.4),
}


@dataclass(frozen=True)
class Design:
    """Arms, their levels, and their noise."""

    levels: tuple[float, ...]
    noise: Noise

    @classmethod
    def with_effects(cls, noise: Noise, effects: tuple[float, ...]) -> "Design":
        """Arms whose true BLEU lies this far above that of the first."""
        levels = [LEVEL]
        for arm, effect in enumerate(effects, start=1):
            wanted = cls((LEVEL,), noise).truth(0) + effect
            levels.append(float(optimize.brentq(_excess, 0.0, 4.0, args=(noise, arm, wanted))))
        return cls(tuple(levels), noise)

    def draw(
        self, seeds: int, sentences: int, rng: np.random.Generator
    ) -> Int[np.ndarray, "arms seeds sentences 10"]:
        """BLEU statistics of a sweep."""
        arms = len(self.levels)
        of_seed = rng.standard_normal((arms, seeds, 1)) * np.reshape(self.noise.seeds, (-1, 1, 1))
        of_sentence = rng.standard_normal(sentences) * self.noise.sentence
        of_arm = rng.standard_normal((arms, 1, sentences)) * self.noise.arm
        logit = np.reshape(self.levels, (-1, 1, 1)) + of_seed + of_sentence + of_arm
        lengths = rng.choice(LENGTHS, sentences)
        produced = lengths - (rng.random((arms, seeds, sentences)) < DROPPED)
        return _counts(special.expit(logit), produced, lengths, rng)

    def truth(self, arm: int) -> float:
        """Expected BLEU over new seeds, on endless new sentences."""
        spread = math.hypot(self.noise.sentence, self.noise.arm)
        seeds = self.levels[arm] + self.noise.seeds[arm] * NODES
        right = special.expit(seeds[:, None] + spread * NODES)
        orders = np.arange(1, ORDERS + 1)
        # expected number of n-grams in a translation, whether right or not
        whole = np.maximum(LENGTHS[:, None] - orders + 1, 0).mean(0)
        short = np.maximum(LENGTHS[:, None] - orders, 0).mean(0)
        totals = (1 - DROPPED) * whole + DROPPED * short
        share = (right[:, :, None] ** orders * WEIGHTS[:, None]).sum(1) / WEIGHTS.sum()
        scale = np.ones((len(NODES), 1))
        lengths = np.array([LENGTHS.mean() - DROPPED, LENGTHS.mean()])
        sums = np.hstack([scale * lengths, share * totals, scale * totals])
        of_seeds = bleu_of_resamples(np.rint(sums * ENDLESS).astype(np.int64))
        return float((of_seeds * WEIGHTS).sum() / WEIGHTS.sum())


def _excess(level: float, noise: Noise, arm: int, wanted: float) -> float:
    return Design((level,) * (arm + 1), noise).truth(arm) - wanted


def _counts(
    chance: Float[np.ndarray, "arms seeds sentences"],
    produced: Int[np.ndarray, "arms seeds sentences"],
    lengths: Int[np.ndarray, " sentences"],
    rng: np.random.Generator,
) -> Int[np.ndarray, "arms seeds sentences 10"]:
    words = np.arange(LENGTHS[-1])
    drawn = rng.random((*chance.shape, len(words)), dtype=np.float32)
    right = (drawn < chance[..., None].astype(np.float32)) & (words < produced[..., None])
    rows = np.empty((*chance.shape, 10), dtype=np.int64)
    rows[..., 0], rows[..., 1] = produced, lengths
    grams = right
    for order in range(ORDERS):
        grams = right if order == 0 else grams[..., :-1] & right[..., order:]
        rows[..., 2 + order] = grams.sum(-1)
        rows[..., 6 + order] = np.maximum(produced - order, 0)
    return rows
