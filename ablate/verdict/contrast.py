"""From the runs of a study to the paired differences that a claim is about.

A contrast is a weighted sum of runs of the same seed (ablate.verdict.sides). For BLEU it is also
one of the contributions of every test sentence.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.sentence_scores import BLEU, by_group, contributions
from ablate.evidence.types import Claim, Run
from ablate.stats.estimate import GROUPS, Estimate, estimate
from ablate.stats.spending import Fractions
from ablate.verdict.floor import has_learned
from ablate.verdict.interim import looks_of
from ablate.verdict.sides import Side, ended_in, names, sides

CHANGED = "changed"  # metric of a pair of runs: share of sentences translated differently
SAME_SCORE = 1e-6  # BLEU, between what a run recorded and what its statistics give


@dataclass(frozen=True)
class Contrast:
    """Paired differences, in units of the metric, positive where the treatment is better.

    `parts` splits each difference into contributions of the test sentences (their mean is the
    difference); None where the metric has no statistics per sentence.
    """

    seeds: list[int]
    differences: Float[np.ndarray, " seeds"]
    plus: Float[np.ndarray, " seeds"]  # the sum of what counts as plus in each difference
    parts: Float[np.ndarray, "seeds sentences"] | None
    grouped: bool  # whether the sentences of a group are one column of the parts
    learned: Bool[np.ndarray, " seeds"]  # whether all runs of the pair have learned
    sides: list[Side]  # its arms, with every run at their levels
    arms: list[str]
    unpaired: list[int]  # seeds that lack a run, or whose run lacks the metric
    looks: Fractions  # those that were taken at these arms, this one last

    @property
    def runs(self) -> list[Run]:
        """Every run at its levels, failed ones too."""
        return [run for side in self.sides for run in side.every]

    @property
    def estimate(self) -> Estimate:
        """The mean difference with its errors."""
        found = estimate(self.differences, self.parts, self.plus)
        units = GROUPS if self.grouped else found.units
        return replace(found, units=units, looks=self.looks)

    def among_learned(self) -> "Contrast":
        """Return the contrast of the seeds whose runs have all learned."""
        kept = np.flatnonzero(self.learned)
        return replace(
            self,
            seeds=[self.seeds[i] for i in kept],
            differences=self.differences[kept],
            plus=self.plus[kept],
            parts=None if self.parts is None else self.parts[kept],
            learned=self.learned[kept],
        )


class Pair(NamedTuple):
    """Of one seed the difference, the sum of what counts as plus in it, and its contributions."""

    difference: float
    plus: float
    parts: Float[np.ndarray, " sentences"] | None


def contrast(claim: Claim, evidence: Evidence) -> Contrast:
    """Return the contrast of a claim of any kind but exact without arms.

    Raises:
        ContrastError: a trend has fewer than two levels, or a level without a logarithm.
        UserError: a record and its statistics disagree.
    """
    arms = sides(claim, evidence)
    every = {seed for side in arms for seed in side.runs}
    found = {seed: _difference(claim, arms, seed, evidence) for seed in sorted(every)}
    measured = {seed: pair for seed, pair in found.items() if pair is not None}
    seeds = list(measured)
    parts = _stack([measured[seed].parts for seed in seeds])
    groups = evidence.groups.get(claim["metric"].rpartition("/")[0])
    if parts is not None and groups is not None:
        parts = by_group(parts, groups)
    return Contrast(
        seeds=seeds,
        differences=np.array([measured[seed].difference for seed in seeds], dtype=np.float64),
        plus=np.array([measured[seed].plus for seed in seeds], dtype=np.float64),
        parts=parts,
        grouped=groups is not None,
        learned=np.array([_learned(arms, seed, claim["metric"]) for seed in seeds], dtype=bool),
        sides=arms,
        arms=names(claim),
        unpaired=sorted(every - measured.keys()),
        looks=looks_of(claim, evidence, ended_in(arms)),
    )


def _difference(claim: Claim, sides: list[Side], seed: int, evidence: Evidence) -> Pair | None:
    """What a seed measured; None when a run or its metric is missing."""
    for side in sides:
        runs = side.runs.get(seed, [])
        planned = max((len(found) for found in side.runs.values()), default=0)
        if not runs or len(runs) < planned or any(run["status"] == "failed" for run in runs):
            return None
    try:
        if claim["metric"].rpartition("/")[2] == CHANGED:
            return _changed(sides, seed, claim["metric"], evidence)
        return _weighted(claim, sides, seed, evidence)
    except KeyError:
        return None


def _weighted(claim: Claim, sides: list[Side], seed: int, evidence: Evidence) -> Pair:
    terms = [(s.weight / len(s.runs[seed]), run) for s in sides for run in s.runs[seed]]
    log = claim["kind"] == "trend" and claim["scale"] == "log_log"
    scores = [w * _scaled(value(run, claim["metric"]), log) for w, run in terms]
    plus = sum(score for (w, _), score in zip(terms, scores, strict=True) if w > 0)
    parts = [(w, _parts(run, claim["metric"], evidence, log)) for w, run in terms]
    lengths = {len(part) for _, part in parts if part is not None}
    if len(lengths) != 1 or any(part is None for _, part in parts):
        return Pair(sum(scores), plus, None)
    shares = np.sum([w * part for w, part in parts if part is not None], axis=0)
    return Pair(sum(scores), plus, shares)


def _scaled(score: float, log: bool) -> float:
    if not math.isfinite(score) or (log and score <= 0):
        raise KeyError(score)
    return math.log(score) if log else score


def _parts(
    run: Run, metric: str, evidence: Evidence, log: bool
) -> Float[np.ndarray, " sentences"] | None:
    """Contributions of the sentences to a run's BLEU; zeros for a run that went wrong."""
    split, _, name = metric.rpartition("/")
    if name != BLEU:
        return None
    score = value(run, metric)
    if run["status"] != "finished":
        sizes = [len(found[split]) for found in evidence.statistics.values() if split in found]
        return np.zeros(sizes[0]) if len(set(sizes)) == 1 else None
    rows = evidence.statistics.get(run["identity"], {}).get(split)
    if rows is None:
        return None
    found = contributions(rows)
    if abs(found.mean() - score) > SAME_SCORE:
        raise UserError(
            f"run {run['identity']}: {metric} is recorded as {score:g}, "
            f"but its statistics per sentence give {found.mean():g}"
        )
    return math.log(score) + found / score - 1 if log else found


def _changed(sides: list[Side], seed: int, metric: str, evidence: Evidence) -> Pair:
    """Signed average over the pairs of runs of what `differ` says."""
    split = metric.rpartition("/")[0]
    total: Any = 0.0
    plus = 0.0
    for first, second in zip(sides[::2], sides[1::2], strict=True):
        pairs = list(zip(first.runs[seed], second.runs[seed], strict=False))
        for pair in pairs:
            share = first.weight * differ(pair, split, evidence) / len(pairs)
            total, plus = total + share, plus + max(0.0, float(share.mean()))
    parts = np.asarray(total, dtype=np.float64)
    return Pair(float(parts.mean()), plus, parts)


def differ(
    pair: tuple[Run, Run], split: str, evidence: Evidence
) -> Float[np.ndarray, " sentences"]:
    """1 where the statistics of a sentence differ between two runs, else 0.

    Raises:
        KeyError: neither run has statistics of this split.
    """
    rows = [evidence.statistics.get(run["identity"], {}).get(split) for run in pair]
    known = [found for found in rows if found is not None]
    if len(known) == 1:  # the other run went wrong and translates nothing
        return np.ones(len(known[0]))
    if not known or len(known[0]) != len(known[1]):
        raise KeyError(split)
    return (known[0] != known[1]).any(1).astype(np.float64)


def _stack(
    parts: list[Float[np.ndarray, " sentences"] | None],
) -> Float[np.ndarray, "seeds sentences"] | None:
    found = [part for part in parts if part is not None]
    if not found or len(found) < len(parts) or len({len(part) for part in found}) > 1:
        return None
    return np.stack(found)


def _learned(sides: list[Side], seed: int, metric: str) -> bool:
    return all(has_learned(run, metric, side) for side in sides for run in side.runs[seed])
