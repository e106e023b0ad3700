"""Simulate sweeps with planned interim analyses: how often they are wrong, and what they save.

Two arms with equal normal noise have twelve seeds and three interim analyses (looks). The sweeps go
through the code of real sweeps: each look spends alpha, claims are decided, and an arm ends when
its claim is decided or unlikely to be decided. The noise is chosen so that a sweep with one look
has a power of about 85 % at the effect for which the claim is planned.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

from ablate.evidence.folder import Evidence
from ablate.evidence.registration import planned_looks
from ablate.verdict.conclude import arms_to_continue
from ablate.verdict.judge import decide
from ablate.verdict.types import REFUTED, SUPPORTED
from lab.calibration.fishing import ARMS, CLAIM

SEEDS, LOOKS = 12, 3
MARGIN, SPREAD = 1.0, 0.75  # SPREAD: standard deviation over the seeds of an arm, in margins
# kind of claim, true effect in margins, and the verdict that is counted
CASES = {
    "superiority, no effect: supported": ("superiority", 0.0, SUPPORTED),
    "superiority, an effect of the margin: refuted": ("superiority", 1.0, REFUTED),
    "superiority, an effect of the margin: supported": ("superiority", 1.0, SUPPORTED),
    "equivalence, a loss of the margin: supported": ("equivalence", -1.0, SUPPORTED),
    "equivalence, a loss of the margin: refuted": ("equivalence", -1.0, REFUTED),
    "equivalence, equal arms: supported": ("equivalence", 0.0, SUPPORTED),
}
FALSE = {  # the cases whose verdict is false, with the largest allowed proportion of sweeps
    "superiority, no effect: supported": 0.025,
    "superiority, an effect of the margin: refuted": 0.025,
    "equivalence, a loss of the margin: supported": 0.05,
    "equivalence, a loss of the margin: refuted": 0.025,
}
FIXED, STAGED, USED = "one look", f"{LOOKS} looks", "runs used"
Marks = dict[str, float]
Scores = Float[np.ndarray, "arms seeds"]


def sequential(case: str, sweeps: Iterable[int]) -> Marks:
    """Return how many sweeps reach the verdict of a case, and the runs that they use.

    Args:
        case: a key of CASES.
        sweeps: numbers of the sweeps, which select their random numbers.

    Returns:
        one look: number of sweeps that reach the verdict with one look at the end.
        3 looks: number of sweeps that reach the verdict with three looks.
        runs used: sum over the sweeps of the proportion of planned runs that three looks use.
    """
    kind, effect, wanted = CASES[case]
    costs = dict.fromkeys((FIXED, STAGED, USED), 0.0)
    for number in sweeps:
        rng = np.random.default_rng([5, list(CASES).index(case), number])
        scores = rng.normal([[effect * MARGIN], [0.0]], SPREAD, (len(ARMS), SEEDS))
        status, seeds = _staged(kind, scores)
        costs[FIXED] += _status(_evidence(kind, scores, [])) == wanted
        costs[STAGED] += status == wanted
        costs[USED] += seeds / SEEDS
    return costs


def _staged(kind: str, scores: Scores) -> tuple[str, int]:
    """Return the verdict of a sweep with planned looks, and the number of seeds that it used."""
    seen: list[list[int]] = []
    study: Any = {"seeds": SEEDS, "looks": LOOKS, "claims": [CLAIM]}
    for seeds in planned_looks(study):
        evidence = _evidence(kind, scores[:, :seeds], seen)
        seen = [*seen, list(range(seeds))]
        if not arms_to_continue(evidence):
            break
    return _status(evidence), seeds


def _status(evidence: Evidence) -> str:
    ((_, _, decision),) = decide(evidence)
    return decision.status


def _evidence(kind: str, scores: Scores, seen: list[list[int]]) -> Evidence:
    claim = {**CLAIM, "kind": kind, "margin": MARGIN}
    study = {"factors": ["arm"], "seeds": SEEDS, "looks": LOOKS, "claims": [claim]}
    asked: dict[str, Any] = {"asked": {"false": {"looks": seen, "tried": [], "regimes": 0}}}
    runs = [
        _run(arm, seed, 10.0 - score)
        for arm, arm_scores in zip(ARMS, scores, strict=True)
        for seed, score in enumerate(arm_scores.tolist())
    ]
    return Evidence.synthetic(study, runs, registration=asked)


def _run(arm: str, seed: int, nll: float) -> dict[str, Any]:
    return {
        **{"levels": {"arm": arm}, "arm": arm, "seed": seed, "identity": f"{arm} {seed}"},
        **{"cell": 0, "status": "finished", "metrics": {"test/nll": nll, "unigram_nll": 99.0}},
    }
