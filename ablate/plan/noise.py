"""Estimate how much a metric varies between runs, and between sentences, from earlier runs.

The difference between each arm and the next is paired by seed, as in a verdict
(ablate.verdict.contrast), so that runs that failed to learn are left out. The variances of these
differences are pooled. The pooled variance predicts the variation of a new difference between two
arms in the same setting (data, device, sizes and budget).
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

import numpy as np
from jaxtyping import Float

from ablate.errors import UserError
from ablate.evidence.folder import Evidence, Rows
from ablate.evidence.gather import statistics_of
from ablate.evidence.outcome import value
from ablate.evidence.types import Claim, Levels, Run
from ablate.plan.registry import Row
from ablate.stats.estimate import sentence_variance
from ablate.verdict.contrast import contrast
from ablate.verdict.floor import has_learned
from ablate.verdict.sides import sides

ARM = "arm"  # the factor whose levels distinguish the arms of earlier runs
STUDY = {"seeds": 1, "claims": []}


@dataclass(frozen=True)
class Noise:
    """Standard deviations that describe the noise of a metric, in units of the metric.

    `seed` is the standard deviation of one run between seeds. `difference` is the standard
    deviation of the paired difference between two arms. `sentence` is the standard deviation of the
    mean difference that is due to the choice of `sentences` test sentences; 0 if the metric has no
    values per sentence. `runs` is the number of runs that were used.
    """

    seed: float
    difference: float
    sentence: float
    sentences: int
    runs: int


def of_setting(earlier: Iterable[Row]) -> Evidence:
    """Return earlier runs of one setting as evidence, in which the digest of an arm is its level of
    the factor `ARM`.
    """
    return as_evidence(STUDY, [(row, "", {ARM: row.kin.arm}) for row in earlier])


def noise(evidence: Evidence, metric: str) -> Noise | None:
    """Return the noise of a metric in earlier runs of one setting; None if no arm has two seeds.

    `evidence` has the runs, as `of_setting` returns them.
    """
    arms: dict[str, list[Run]] = {}
    for run in evidence.runs:
        arms.setdefault(str(run["levels"][ARM]), []).append(run)
    scores = [_scores(metric, replace(evidence, runs=runs)) for runs in arms.values()]
    repeated = [of_arm for of_arm in scores if len(of_arm) > 1]
    if not repeated:
        return None
    seed = _pooled(repeated)
    differences, of_sentences, sizes = [], [], {0}
    for (first, runs), (second, next_runs) in pairwise(arms.items()):
        with suppress(UserError):  # a score and its statistics disagree; the run will be repeated
            claim = _claim(metric, {ARM: first}, {ARM: second})
            paired = contrast(claim, replace(evidence, runs=[*runs, *next_runs])).among_learned()
            if len(paired.seeds) < 2:
                continue
            differences.append(paired.differences)
            if paired.parts is not None:
                of_sentences.append(sentence_variance(paired.parts))
                sizes.add(paired.parts.shape[1])
    return Noise(
        seed=seed,
        difference=_pooled(differences) if differences else math.sqrt(2) * seed,
        sentence=math.sqrt(statistics.fmean(of_sentences)) if of_sentences else 0.0,
        sentences=max(sizes),
        runs=sum(map(len, repeated)),
    )


def _claim(metric: str, treatment: Levels, baseline: Levels) -> Claim:
    """Return a claim on the difference of two arms; without them, on all runs."""
    arms = {"treatment": treatment, "baseline": baseline, "where": {}, "minus": {}}
    claim = {"id": "", "kind": "superiority", "metric": metric, "better": "higher", **arms}
    return cast(Claim, claim)


def _scores(metric: str, evidence: Evidence) -> Float[np.ndarray, " runs"]:
    """Return the scores of the runs that learned, ordered by seed; all runs are of one arm."""
    (side,) = sides(_claim(metric, {}, {}), evidence)
    scores = []
    for run in (run for seed in sorted(side.runs) for run in side.runs[seed]):
        with suppress(KeyError):  # the run was not tested with this metric
            if has_learned(run, metric, side):
                scores.append(value(run, metric))
    return np.array(scores)


def _pooled(samples: Sequence[Float[np.ndarray, " _"]]) -> float:
    """Return the standard deviation within samples, pooled over the samples."""
    squares = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in samples)
    return math.sqrt(squares / sum(len(sample) - 1 for sample in samples))


def as_evidence(
    study: Mapping[str, object], earlier: Iterable[tuple[Row, str, Levels]]
) -> Evidence:
    """Return earlier runs as evidence for a study.

    Args:
        study: the study.
        earlier: each run with the digest of the settings of its test ("" for any test, or none),
            and with the levels of its arm.
    """
    runs: list[Mapping[str, object]] = []
    by_test: dict[str, dict[str, Rows]] = {}
    for row, asked, levels in earlier:
        test = row.tested.get(asked) if asked else next(iter(row.tested.values()), None)
        if test is None:
            score = {"identity": row.folder.name, "metrics": row.metrics}
        else:
            score = {"identity": test.identity, "metrics": row.metrics | test.metrics}
        with suppress(UserError):  # damaged records are skipped; their runs will be repeated
            if test is not None:
                by_test[test.identity] = statistics_of(test.folder)
            runs.append({"seed": row.seed, "status": row.status, "levels": levels, **score})
    return Evidence.made_up(study, runs, statistics=by_test)
