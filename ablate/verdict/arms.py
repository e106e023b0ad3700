"""Collect the scores of all arms of a study, from which the error of a claim is estimated."""

import math

import numpy as np
from jaxtyping import Float

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.types import Claim, Run
from ablate.record.label import key
from ablate.stats.means import largest
from ablate.stats.moderated import FEWEST_RUNS, ArmNoise, arm_noise
from ablate.stats.ties import at_most
from ablate.verdict.floor import has_learned
from ablate.verdict.sides import Side

Weights = tuple[float, ...]


def noise_of(
    claim: Claim, compared: list[Side], evidence: Evidence
) -> tuple[ArmNoise | None, Weights]:
    """Return the noise of all arms in the metric of a claim, and the weight of each arm in the
    claim's differences.

    The noise is None if the study has too few arms for it, or if a compared arm has too few runs
    that learned, or runs that do not vary.
    """
    weights = {
        key(run["levels"]): side.weight / len(runs)
        for side in compared
        for runs in side.runs.values()
        for run in runs
    }
    scores = scores_of(claim["metric"], evidence, log=uses_logarithm(claim))
    usable = {arm: row for arm, row in scores.items() if _varies(row[np.isfinite(row)])}
    if not weights or weights.keys() - usable.keys():
        return None, ()
    return arm_noise(np.stack([*usable.values()])), tuple(weights.get(arm, 0.0) for arm in usable)


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
    arms: dict[str, list[Run]] = {}
    for run in evidence.runs:
        arms.setdefault(key(run["levels"]), []).append(run)
    seeds = sorted({run["seed"] for run in evidence.runs})
    return {arm: _scores(metric, runs, seeds, log=log) for arm, runs in arms.items()}


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


def _scores(
    metric: str, runs: list[Run], seeds: list[int], *, log: bool
) -> Float[np.ndarray, " seeds"]:
    by_seed = {run["seed"]: [run] for run in runs}
    arm, row = Side(1.0, runs[0]["levels"], by_seed), np.full(len(seeds), np.nan)
    for place, seed in enumerate(seeds):
        for run in by_seed.get(seed, []):
            if run["status"] == "failed" or not has_learned(run, metric, arm):
                continue
            try:
                row[place] = in_scale(value(run, metric), log=log)
            except KeyError:
                continue
    return row


def _varies(row: Float[np.ndarray, " runs"]) -> bool:
    return len(row) >= FEWEST_RUNS and not at_most(float(np.ptp(row)), 0.0, largest(row))
