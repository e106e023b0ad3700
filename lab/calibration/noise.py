"""How noisy a corpus is: BLEU between seeds, between test sentences, and what remains.

Standard deviations, in BLEU, of the score of one run on a test set of this size, for every arm and
for the paired difference of every two arms:
  seed       other seeds, on endless test sentences
  sentence   other sentences, on which all seeds of the arm agree
  rest       what is left: a seed does better on some sentences and another on others
(two-way random effects, ablate.stats.estimate; arXiv:2010.06595 for why both levels matter).
docs/explanation/calibration.md is made with noise of this size.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import gather
from ablate.evidence.sentence_scores import contributions
from ablate.evidence.table import by_arm
from ablate.evidence.types import Run
from ablate.stats.estimate import components

Parts = Float[np.ndarray, "seeds sentences"]


def noise(evidence: Evidence, split: str = "test") -> dict[str, dict[str, int | float]]:
    """Noise of every arm, and of the difference of every two arms, from their finished runs.

    Raises:
        UserError: no arm has two finished runs with statistics of this split.
    """
    arms = {arm: _parts(runs, evidence, split) for arm, runs in by_arm(evidence.runs).items()}
    noise = {
        arm: _spread(np.array(list(parts.values())))
        for arm, parts in arms.items()
        if len(parts) > 1
    }
    for (first, ones), (second, partners) in itertools.combinations(arms.items(), 2):
        pairs = [ones[seed] - partners[seed] for seed in ones if seed in partners]
        if len(pairs) > 1:
            noise[f"{first} - {second}"] = _spread(np.array(pairs))
    if not noise:
        raise UserError(f"no arm has two finished runs with statistics of split {split}")
    return noise


def _parts(runs: list[Run], evidence: Evidence, split: str) -> dict[int, Any]:
    return {
        run["seed"]: contributions(evidence.statistics[run["identity"]][split])
        for run in runs
        if run["status"] == "finished" and split in evidence.statistics.get(run["identity"], {})
    }


def _spread(parts: Parts) -> dict[str, int | float]:
    names = ("seed", "sentence", "rest")
    sizes = (round(max(0.0, variance) ** 0.5, 3) for variance in components(parts))
    return {
        "mean": round(float(parts.mean()), 2),
        **dict(zip(names, sizes, strict=True)),
        "seeds": len(parts),
        "sentences": parts.shape[1],
    }


def evidence_of(folder: Path) -> Evidence:
    """The evidence that a folder holds, or that a sweep's runs make.

    Raises:
        UserError: it is neither, or a record is damaged.
    """
    return Evidence.load(folder) if (folder / "runs.jsonl").exists() else gather(folder)
