"""Compare an arm with itself, in every split of ten of its runs into two halves of five.

Runs that differ only in seed and replicate belong to the same arm. Both halves have the same true
mean, so every verdict that one half is better is false. The 126 splits share their runs. So their
rate of false verdicts varies more around alpha than the rate of 126 independent sweeps.
"""

import itertools
import json

import numpy as np
from jaxtyping import Float

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.sentence_scores import contributions
from ablate.evidence.types import Run
from ablate.stats.estimate import estimate
from ablate.verdict.decision import REFUTED, SUPPORTED
from ablate.verdict.kind import KINDS

RUNS = 10
ALPHA = 0.05
REPLICATE = "replicate"  # factor whose levels are different sets of seeds of the same arm
Parts = Float[np.ndarray, "runs sentences"]


def judge_splits(parts: Parts, margin: float) -> dict[str, int | float | dict[str, float]]:
    """Return the proportion of each verdict over all splits of the runs into two halves.

    Runs of the two halves are paired in their order.

    Args:
        parts: contribution of each test sentence to the BLEU of each run.
        margin: margin of equivalence in BLEU.

    Returns:
        splits: number of splits.
        largest difference: largest absolute difference between the means of two halves, in BLEU.
        superiority, margin 0: proportions of the verdicts supported and refuted.
        equivalence, margin M: proportions of the verdicts supported and refuted.
    """
    halves = [
        ([0, *chosen], [run for run in range(1, len(parts)) if run not in chosen])
        for chosen in itertools.combinations(range(1, len(parts)), len(parts) // 2 - 1)
    ]
    differences = [parts[first] - parts[second] for first, second in halves]
    return {
        "splits": len(halves),
        "largest difference": round(max(abs(float(x.mean())) for x in differences), 3),
        "superiority, margin 0": _shares(differences, "superiority", 0.0),
        f"equivalence, margin {margin:g}": _shares(differences, "equivalence", margin),
    }


def _shares(differences: list[Parts], kind: str, margin: float) -> dict[str, float]:
    effects = [estimate(x.mean(1), x) for x in differences]
    verdicts = [KINDS[kind].alone(effect, margin, ALPHA).status for effect in effects]
    return {side: round(verdicts.count(side) / len(verdicts), 4) for side in (SUPPORTED, REFUTED)}


def ten_runs(evidence: Evidence, split: str) -> tuple[str, Parts]:
    """Return the first arm with ten finished runs, and the runs' contributions of sentences.

    The arm is returned as the JSON of its levels. `split` names the test set of the sentences.

    Raises:
        UserError: no arm has ten finished runs with statistics of this split.
    """
    arms: dict[str, list[Run]] = {}
    for run in sorted(
        evidence.runs, key=lambda run: (run["levels"].get(REPLICATE) or 0, run["seed"])
    ):
        if run["status"] == "finished" and split in evidence.statistics.get(run["identity"], {}):
            varied = {k: v for k, v in run["levels"].items() if k != REPLICATE}
            arms.setdefault(json.dumps(varied, sort_keys=True), []).append(run)
    for levels, runs in arms.items():
        if len(runs) >= RUNS:
            rows = [evidence.statistics[run["identity"]][split] for run in runs[:RUNS]]
            return levels, np.array([contributions(run) for run in rows])
    raise UserError(f"no arm has {RUNS} finished runs with statistics of split {split}")
