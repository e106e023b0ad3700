"""Estimate how much a metric varies between runs, and between sentences, from earlier runs.

The difference between each arm and the next is paired by seed. The variances of these differences
are pooled. The pooled variance predicts the variation of a new difference between two arms in the
same setting (data, device, sizes and budget).
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float

from ablate.evidence.gather import STATISTICS, read_rows
from ablate.evidence.outcome import value
from ablate.evidence.sentence_scores import BLEU, contributions
from ablate.evidence.types import Run
from ablate.plan.registry import Row
from ablate.stats.estimate import sentence_variance


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


def noise(earlier: Sequence[Row], metric: str) -> Noise | None:
    """Return the noise of a metric in earlier runs of one setting; None if no arm has two seeds."""
    arms: dict[str, dict[int, Row]] = {}
    for row in earlier:
        arms.setdefault(row.kin.arm, {})[row.seed] = row
    scores = [_scores(runs, metric) for runs in arms.values()]
    repeated = [list(of_arm.values()) for of_arm in scores if len(of_arm) > 1]
    if not repeated:
        return None
    seed = _pooled([np.array(values) for values in repeated])
    differences, of_sentences, sizes = [], [], {0}
    for (rows_of_arm, ones), (other, other_scores) in itertools.pairwise(
        zip(arms.values(), scores, strict=True)
    ):
        shared = [s for s in ones if s in other_scores]
        if len(shared) < 2:
            continue
        differences.append(np.array([ones[s] - other_scores[s] for s in shared]))
        if (parts := _parts([(rows_of_arm[s], other[s]) for s in shared], metric)) is not None:
            of_sentences.append(sentence_variance(parts))
            sizes.add(parts.shape[1])
    return Noise(
        seed=seed,
        difference=_pooled(differences) if differences else math.sqrt(2) * seed,
        sentence=math.sqrt(statistics.fmean(of_sentences)) if of_sentences else 0.0,
        sentences=max(sizes),
        runs=sum(map(len, repeated)),
    )


def _scores(runs: dict[int, Row], metric: str) -> dict[int, float]:
    by_seed = {}
    for seed, row in sorted(runs.items()):
        try:
            by_seed[seed] = value(as_run(row), metric)
        except KeyError:  # the run was not tested with this metric
            continue
    return by_seed


def _pooled(samples: list[Float[np.ndarray, " n"]]) -> float:
    """Return the standard deviation within samples, pooled over the samples."""
    squares = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in samples)
    return math.sqrt(squares / sum(len(sample) - 1 for sample in samples))


def _parts(
    pairs: list[tuple[Row, Row]], metric: str
) -> Float[np.ndarray, "seeds sentences"] | None:
    split, _, name = metric.rpartition("/")
    if name != BLEU:
        return None
    read = [[_contributions(row, split) for row in pair] for pair in pairs]
    differences = [a - b for a, b in read if a is not None and b is not None]
    if len(differences) < 2 or len({len(parts) for parts in differences}) > 1:
        return None
    return np.stack(differences)


def _contributions(row: Row, split: str) -> Float[np.ndarray, " sentences"] | None:
    for test in row.tested.values():
        path = test.folder / f"{split}{STATISTICS}"
        rows = read_rows(path) if path.exists() else None
        if rows is not None:
            return contributions(rows)
    return None


def as_run(row: Row, asked: str = "") -> Run:
    """Return an earlier run in the form that verdicts read.

    `asked` is the digest of the settings of the test whose metrics are included; "" for any test.
    """
    test = row.tested.get(asked) if asked else next(iter(row.tested.values()), None)
    run = {
        "identity": test.identity if test else row.folder.name,
        "seed": row.seed,
        "status": row.status,
        "metrics": {**row.metrics, **(test.metrics if test else {})},
    }
    return cast(Run, run)
