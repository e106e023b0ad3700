"""Planned looks on simulated sweeps: how often they err, what they decide, and what they save.

Two arms, equally noisy, normal seeds, three looks at twelve seeds, through the code of a
real sweep: looks are charged, claims are decided, an arm ends when its claim is over. The noise is
such that the fixed design has power of about .85 at the effect that the claim is planned for.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

from ablate.evidence.folder import Evidence
from ablate.evidence.looks import planned_looks
from ablate.verdict.decide import decide
from ablate.verdict.decision import REFUTED, SUPPORTED
from ablate.verdict.stages import needed
from lab.calibration.fishing import ARMS, CLAIM

SEEDS, LOOKS = 12, 3
MARGIN, SPREAD = 1.0, 0.75  # of an arm's seeds, in margins
# kind of claim, true effect in margins, and the verdict that is counted
CASES = {
    "superiority, no effect: supported": ("superiority", 0.0, SUPPORTED),
    "superiority, an effect of the margin: refuted": ("superiority", 1.0, REFUTED),
    "superiority, an effect of the margin: supported": ("superiority", 1.0, SUPPORTED),
    "equivalence, a loss of the margin: supported": ("equivalence", -1.0, SUPPORTED),
    "equivalence, a loss of the margin: refuted": ("equivalence", -1.0, REFUTED),
    "equivalence, equal arms: supported": ("equivalence", 0.0, SUPPORTED),
}
FALSE = {  # the largest share that may be
    "superiority, no effect: supported": 0.025,
    "superiority, an effect of the margin: refuted": 0.025,
    "equivalence, a loss of the margin: supported": 0.05,
    "equivalence, a loss of the margin: refuted": 0.025,
}
FIXED, STAGED, USED = "one look", f"{LOOKS} looks", "runs used"
Marks = dict[str, float]
Scores = Float[np.ndarray, "arms seeds"]


def sequential(case: str, sweeps: Iterable[int]) -> Marks:
    """How many of the sweeps with these numbers end as counted, and the seeds that they take."""
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
    """Verdict of a sweep with planned looks, and the seeds that it took."""
    seen: list[list[int]] = []
    study: Any = {"seeds": SEEDS, "looks": LOOKS, "claims": [CLAIM]}
    for seeds in planned_looks(study):
        evidence = _evidence(kind, scores[:, :seeds], seen)
        seen = [*seen, list(range(seeds))]
        if not needed(evidence):
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
    return Evidence.made_up(study, runs, registration=asked)


def _run(arm: str, seed: int, nll: float) -> dict[str, Any]:
    return {
        **{"levels": {"arm": arm}, "arm": arm, "seed": seed, "identity": f"{arm} {seed}"},
        **{"cell": 0, "status": "finished", "metrics": {"test/nll": nll, "unigram_nll": 99.0}},
    }
