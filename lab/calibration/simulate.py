"""Simulate runs whose true BLEU is known, for the calibration of verdicts.

Each word of a translation is right with a certain probability. Its logit is the sum of the arm's
level and of three random effects: one of the seed, one of the sentence, which all arms share, and
one of the arm and the sentence. An n-gram matches if its n words are right. So the counts from
which BLEU is computed vary between seeds and between sentences, as in real runs. Their expectations
are computed by numerical integration.
The sizes of the effects in `KINDS` are chosen so that the noise is that of real runs. MEASURED has
the noise of real runs, as `python -m lab.noise` prints it.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import optimize, special

from ablate.metric.corpus import bleu_of_resamples

LENGTHS = np.arange(5, 12)  # of the references, in words, equally likely
DROPPED = 0.35  # probability that a translation is a word shorter than its reference
ORDERS = 4
ENDLESS = 10**9  # factor that turns expected counts into the whole numbers that BLEU needs
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the three random effects, on the scale of the logit."""

    seeds: tuple[float, ...]  # effect of the seed, for each arm
    sentence: float  # effect of the sentence, shared by all arms
    arm: float  # effect of the arm and the sentence


LEVEL = 1.6  # logit of the baseline, which gives about 55 BLEU
# Standard deviations of a difference in BLEU (seed, sentence, rest) on 3,000 sentences, from
# preln_vs_postln (12 seeds) and preln_vs_postln_depth (the 7 seeds with which both arms finished).
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
    """The arms of a simulated sweep: the level of each arm as a logit, and the noise."""

    levels: tuple[float, ...]
    noise: Noise

    @classmethod
    def with_effects(cls, noise: Noise, effects: tuple[float, ...]) -> "Design":
        """Return a design with a baseline and one further arm for each effect.

        The true BLEU of an arm is that of the baseline plus the arm's effect.
        """
        levels = [LEVEL]
        for arm, effect in enumerate(effects, start=1):
            wanted = cls((LEVEL,), noise).truth(0) + effect
            levels.append(float(optimize.brentq(_excess, 0.0, 4.0, args=(noise, arm, wanted))))
        return cls(tuple(levels), noise)

    def draw(
        self, seeds: int, sentences: int, rng: np.random.Generator
    ) -> Int[np.ndarray, "arms seeds sentences 10"]:
        """Return the sufficient statistics of BLEU for all sentences of a simulated sweep.

        The ten numbers are the lengths of translation and reference, and the numbers of matching
        and of all n-grams for n from 1 to 4.
        """
        arms = len(self.levels)
        of_seed = rng.standard_normal((arms, seeds, 1)) * np.reshape(self.noise.seeds, (-1, 1, 1))
        of_sentence = rng.standard_normal(sentences) * self.noise.sentence
        of_arm = rng.standard_normal((arms, 1, sentences)) * self.noise.arm
        logit = np.reshape(self.levels, (-1, 1, 1)) + of_seed + of_sentence + of_arm
        lengths = rng.choice(LENGTHS, sentences)
        produced = lengths - (rng.random((arms, seeds, sentences)) < DROPPED)
        return _counts(special.expit(logit), produced, lengths, rng)

    def truth(self, arm: int) -> float:
        """Return the expected BLEU of an arm over new seeds and unlimited new sentences."""
        spread = math.hypot(self.noise.sentence, self.noise.arm)
        seeds = self.levels[arm] + self.noise.seeds[arm] * NODES
        right = special.expit(seeds[:, None] + spread * NODES)
        orders = np.arange(1, ORDERS + 1)
        # expected number of n-grams in a translation, right and wrong
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
