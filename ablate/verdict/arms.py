"""Collect the scores of all arms of a study."""

import math

import numpy as np
from jaxtyping import Float

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.types import Claim, Run
from ablate.record.label import key
from ablate.verdict.floor import has_learned
from ablate.verdict.sides import Side


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
