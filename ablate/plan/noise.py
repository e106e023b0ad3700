"""The noise that earlier runs of a regime have shown: between seeds, and over test sentences.

Of every two neighbouring arms that share seeds, the paired differences: pooled over the arms, what
a new contrast of two arms in this regime will scatter by.
"""

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

import numpy as np
from jaxtyping import Float

from ablate.evidence.folder import Rows
from ablate.evidence.gather import STATISTICS, read_rows
from ablate.evidence.outcome import value
from ablate.evidence.sentence_scores import BLEU, contributions
from ablate.evidence.types import Run
from ablate.plan.registry import Row
from ablate.stats.estimate import sentence_variance

METRICS = ("val/nll", "test/nll", "test/bleu")


@dataclass(frozen=True)
class Noise:
    """Standard deviations, in units of a metric.

    `seed` is that of one run, `difference` that of the paired difference of two arms, both between
    seeds; `sentence` is that of the mean difference over this many `sentences`, 0 without any.
    """

    seed: float
    difference: float
    sentence: float
    sentences: int
    runs: int

    def entry(self) -> dict[str, int | float]:
        """As the registry has it."""
        return {
            "between_seeds": round(self.seed, 5),
            "difference_between_seeds": round(self.difference, 5),
            "difference_over_sentences": round(self.sentence, 5),
            "sentences": self.sentences,
            "runs": self.runs,
        }


class Known(TypedDict):
    """What the registry says of a regime."""

    about: dict[str, object]
    runs: int
    seconds_per_update: float
    noise: dict[str, dict[str, int | float]]  # by metric


def noise(known: Sequence[Row], metric: str) -> Noise | None:
    """Return the noise of a metric over the runs of one regime; None where no arm has two seeds."""
    arms: dict[str, dict[int, Row]] = {}
    for row in known:
        arms.setdefault(row.kin.arm, {})[row.seed] = row
    scores = [_scores(runs, metric) for runs in arms.values()]
    repeated = [list(found.values()) for found in scores if len(found) > 1]
    if not repeated:
        return None
    seed = _pooled([np.array(found) for found in repeated])
    differences, of_sentences, sizes = [], [], {0}
    for (one, ones), (other, others) in itertools.pairwise(zip(arms.values(), scores, strict=True)):
        shared = [s for s in ones if s in others]
        if len(shared) < 2:
            continue
        differences.append(np.array([ones[s] - others[s] for s in shared]))
        if (parts := _parts([(one[s], other[s]) for s in shared], metric)) is not None:
            of_sentences.append(sentence_variance(parts))
            sizes.add(parts.shape[1])
    return Noise(
        seed=seed,
        difference=_pooled(differences) if differences else math.sqrt(2) * seed,
        sentence=math.sqrt(statistics.fmean(of_sentences)) if of_sentences else 0.0,
        sentences=max(sizes),
        runs=sum(map(len, repeated)),
    )


def regimes(known: Iterable[Row]) -> dict[str, Known]:
    """The registry as plain data, by regime: its runs, seconds per update, and noise."""
    by_regime: dict[str, list[Row]] = {}
    for row in known:
        if not row.sample:
            by_regime.setdefault(row.kin.regime, []).append(row)
    return {
        regime: {
            "about": found[0].about,
            "runs": len(found),
            "seconds_per_update": statistics.median(row.per_update for row in found),
            "noise": {m: n.entry() for m in METRICS if (n := noise(found, m)) is not None},
        }
        for regime, found in by_regime.items()
    }


def _scores(runs: dict[int, Row], metric: str) -> dict[int, float]:
    found = {}
    for seed, row in sorted(runs.items()):
        try:
            found[seed] = value(as_run(row), metric)
        except KeyError:  # it was not tested, or is not tested so
            continue
    return found


def _pooled(samples: list[Float[np.ndarray, " n"]]) -> float:
    """Standard deviation within samples."""
    squares = sum(float(((found - found.mean()) ** 2).sum()) for found in samples)
    return math.sqrt(squares / sum(len(found) - 1 for found in samples))


def _parts(
    pairs: list[tuple[Row, Row]], metric: str
) -> Float[np.ndarray, "seeds sentences"] | None:
    split, _, name = metric.rpartition("/")
    if name != BLEU:
        return None
    found = [[_contributions(row, split) for row in pair] for pair in pairs]
    known = [one - other for one, other in found if one is not None and other is not None]
    if len(known) < 2 or len({len(parts) for parts in known}) > 1:
        return None
    return np.stack(known)


def _contributions(row: Row, split: str) -> Float[np.ndarray, " sentences"] | None:
    for test in row.tested.values():
        path = test.folder / f"{split}{STATISTICS}"
        rows = read_rows(path) if path.exists() else None
        if rows is not None:
            return contributions(rows)
    return None


def as_run(row: Row, asked: str = "") -> Run:
    """The run as evidence has it, with the metrics of one way of testing, or of any."""
    test = row.tested.get(asked) if asked else next(iter(row.tested.values()), None)
    found = {
        "identity": test.identity if test else row.folder.name,
        "seed": row.seed,
        "status": row.status,
        "metrics": {**row.metrics, **(test.metrics if test else {})},
    }
    return cast(Run, found)


def statistics_of(folder: Path) -> dict[str, Rows]:
    """Sufficient statistics per sentence of an evaluation, by split."""
    found = {p.name.removesuffix(STATISTICS): read_rows(p) for p in folder.glob(f"*{STATISTICS}")}
    return {split: rows for split, rows in found.items() if rows is not None}
