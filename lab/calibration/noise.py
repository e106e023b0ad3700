"""Measure how much BLEU varies between seeds and between test sentences.

The results are three standard deviations, in BLEU, of the score of one run on a test set of this
size, for every arm and for the paired difference of every two arms:
  seed       variation between seeds that an unlimited number of test sentences would not remove
  sentence   variation between test sets that all seeds of the arm share
  rest       interaction: some seeds are better on some sentences, other seeds on other sentences
The model has random effects of seeds and of sentences (ablate.stats.estimate). arXiv:2010.06595
explains why both matter. The simulations of docs/explanation/calibration.md use noise of this size.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ablate.errors import UserError
from ablate.evidence.checks import file_of_runs
from ablate.evidence.folder import Evidence, contributions
from ablate.evidence.gather import gather
from ablate.evidence.outcome import Run, by_arm
from ablate.stats.estimate import components

Parts = Float[np.ndarray, "seeds sentences"]


def noise(evidence: Evidence, split: str = "test") -> dict[str, dict[str, int | float]]:
    """Return the noise of every arm and of the difference of every two arms, from finished runs.

    The keys are labels of arms, or "A - B" for a difference.

    Returns:
        mean: mean BLEU, or mean difference.
        seed, sentence, rest: the three standard deviations (see the docstring of this module).
        seeds, sentences: the numbers of seeds and of sentences.

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
    """Return the evidence in a folder; the folder has committed evidence, or the runs of a sweep.

    Raises:
        UserError: the folder has neither, or a record is damaged.
    """
    return Evidence.load(folder) if file_of_runs(folder).exists() else gather(folder)
