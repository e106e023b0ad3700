"""Estimate the run-to-run variation of all arms of a study in the metric of a claim."""

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.types import Claim, Run
from ablate.record.label import key
from ablate.stats import at_most
from ablate.stats.means import largest
from ablate.stats.moderated import FEWEST_RUNS, ArmNoise, EffectNoise, arm_noise, effect_noise
from ablate.verdict.floor import has_learned
from ablate.verdict.sides import Side


class StudyNoise(NamedTuple):
    """The noise of all arms of a study in the metric of a claim.

    Args:
        arms: the noise.
        weights: weight of each arm in the claim's differences.
        scores: score of each arm and seed; NaN if there is none.
        seeds: the seeds of the study.
        with_unpaired: whether runs of the compared arms with seeds outside the pairs count, too.
    """

    arms: ArmNoise
    weights: Float[np.ndarray, " arms"]
    scores: Float[np.ndarray, "arms seeds"]
    seeds: list[int]
    with_unpaired: bool

    def of_effect(self, pairs: list[int]) -> EffectNoise:
        """Return the noise of the effect whose pairs have the given seeds."""
        paired = np.isin(self.seeds, pairs)
        return effect_noise(
            self.arms, self.weights, self.scores, paired, with_unpaired=self.with_unpaired
        )


def noise_of(claim: Claim, compared: list[Side], evidence: Evidence) -> StudyNoise | None:
    """Return the noise of all arms in the metric of a claim.

    The noise is None if the study has too few arms for it, or if a compared arm has too few runs
    that learned, or runs that do not vary.
    """
    weights: dict[str, float] = {}
    for side in compared:  # an arm may be on two sides of an interaction
        arms = {key(run["levels"]) for runs in side.runs.values() for run in runs}
        for arm in arms:
            weights[arm] = weights.get(arm, 0.0) + side.weight / len(arms)
    scores = scores_of(claim["metric"], evidence, log=uses_logarithm(claim))
    usable = {arm: row for arm, row in scores.items() if _varies(row[np.isfinite(row)])}
    if not weights or weights.keys() - usable.keys():
        return None
    of_arms, stacked = (
        np.array([weights.get(arm, 0.0) for arm in usable]),
        np.stack([*usable.values()]),
    )
    noise = arm_noise(stacked)
    seeds = sorted({run["seed"] for run in evidence.runs})
    with_unpaired = bool(evidence.study.get("baseline_seeds"))
    return None if noise is None else StudyNoise(noise, of_arms, stacked, seeds, with_unpaired)


def scores_of(
    metric: str, evidence: Evidence, *, log: bool = False
) -> dict[str, Float[np.ndarray, " seeds"]]:
    """Return the scores of each arm, one for every seed of the study.

    A score is NaN if the run is missing, lacks the metric, or has not learned.

    Args:
        metric: the metric.
        evidence: the evidence of the study.
        log: whether to return the logarithms of the scores.
    """
    arms: dict[str, dict[int, list[Run]]] = {}
    for run in evidence.runs:
        arms.setdefault(key(run["levels"]), {})[run["seed"]] = [run]
    seeds = sorted({run["seed"] for run in evidence.runs})
    sides = {arm: Side(1.0, {}, by_seed) for arm, by_seed in arms.items()}
    return {
        arm: np.array([_score(metric, side, seed, log=log) for seed in seeds], dtype=np.float64)
        for arm, side in sides.items()
    }


def uses_logarithm(claim: Claim) -> bool:
    """Return whether a claim is about the logarithm of its metric: a trend that is an exponent."""
    return claim["kind"] == "trend" and claim["scale"] == "log_log"


def in_scale(score: float, *, log: bool) -> float:
    """Return a score, or its logarithm.

    Raises:
        KeyError: the score is not finite, or has no logarithm.
    """
    if not math.isfinite(score) or (log and score <= 0):
        raise KeyError(score)
    return math.log(score) if log else score


def _score(metric: str, arm: Side, seed: int, *, log: bool) -> float:
    for run in arm.runs.get(seed, []):
        with suppress(KeyError):  # the run lacks the metric
            if run["status"] != "failed" and has_learned(run, metric, arm):
                return in_scale(value(run, metric), log=log)
    return math.nan


def _varies(row: Float[np.ndarray, " runs"]) -> bool:
    return len(row) >= FEWEST_RUNS and not at_most(float(np.ptp(row)), 0.0, largest(row))
