"""Compute the paired differences between the arms of a claim, and the fraction of the planned seeds
in each of its interim analyses.

A contrast is a weighted sum of the scores of runs with the same seed (ablate.verdict.sides). Each
difference in BLEU is also split into contributions of the test sentences, and each difference in
the nll of a text into contributions of its blocks. The error of a difference is estimated from the
scores of all arms of the study.
"""

import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ablate.config.labels import arm_label
from ablate.config.study import Claim, Predicted, Question
from ablate.errors import UserError
from ablate.evidence.checks import History
from ablate.evidence.folder import (
    NLL,
    Evidence,
    by_group,
    contributions,
    contributions_of_blocks,
    differing_sentences,
)
from ablate.evidence.outcome import CHANGED, Run, involves_chance, value
from ablate.evidence.registration import shared_seeds
from ablate.phrases import claim_name
from ablate.record.results import key
from ablate.stats import above, at_most, difference
from ablate.stats.corrections import ONCE, Fractions
from ablate.stats.estimate import Estimate, Units, estimate, from_arms
from ablate.stats.means import largest
from ablate.stats.moderated import FEWEST_RUNS, EffectNoise, arm_noise, effect_noise
from ablate.verdict.floor import has_learned
from ablate.verdict.sides import Side, complete_seeds, sides
from ablate.verdict.types import ControlOutcome

NO_HISTORY = History(looks=[], tried=[], regimes=0)
SAME_SCORE = 1e-5  # allowed relative difference between a recorded score and its statistics
OF_TEXTS = ("nll", "bpb", "nll_per_character")  # metrics proportional to the nll of a text
Noise = Callable[[list[int]], EffectNoise]  # of the effect whose pairs have the given seeds


@dataclass(frozen=True)
class Contrast:
    """The paired differences of a claim in units of the metric, positive if the treatment is
    better.

    `parts` splits each difference into contributions of `units`: test sentences, groups of them, or
    blocks of a text. Their mean is the difference. `parts` is None if the metric has no statistics.
    """

    seeds: list[int]
    differences: Float[np.ndarray, " seeds"]
    added: Float[np.ndarray, " seeds"]  # sums of the terms with positive weight
    parts: Float[np.ndarray, "seeds units"] | None
    units: Units  # what each column of `parts` is
    learned: Bool[np.ndarray, " seeds"]  # whether all runs of the pair have learned
    sides: list[Side]  # the compared arms, with all of their runs
    unpaired: list[int]  # seeds that lack a run, or whose run lacks the metric
    # interim analyses of these arms as fractions of the seeds; the current one is last
    looks: Fractions
    textbook: bool = False  # whether the t test is not corrected for skewness
    noise: Noise | None = None  # from all arms of the study
    predicted: Predicted | None = None  # gain that was subtracted from each difference

    @property
    def estimate(self) -> Estimate:
        """The mean of the paired differences, with its standard error."""
        mean_difference = estimate(self.differences, self.parts, self.added)
        if self.noise:
            mean_difference = from_arms(mean_difference, self.noise(self.seeds))
        skewness = None if self.textbook else mean_difference.skewness
        mean = replace(mean_difference, units=self.units, looks=self.looks, skewness=skewness)
        return _with_error(mean, self.predicted) if self.predicted else mean

    def among_learned(self) -> "Contrast":
        """Return the contrast restricted to seeds whose runs have all learned the task."""
        kept = self.learned
        return replace(
            self,
            seeds=[seed for seed, learned in zip(self.seeds, kept, strict=True) if learned],
            differences=self.differences[kept],
            added=self.added[kept],
            parts=None if self.parts is None else self.parts[kept],
            learned=kept[kept],
        )


def _with_error(mean: Estimate, predicted: Predicted) -> Estimate:
    """Return an estimate whose variance also has the variance of the prediction.

    This variance does not depend on the number of seeds, like that of the test sentences.
    """
    df = min(predicted["df"], mean.sentences - 1 if mean.sentences else math.inf)
    variance = mean.sentence_variance + predicted["error"] ** 2
    return replace(mean, sentences=int(df) + 1, sentence_variance=variance, units="prediction")


class Pair(NamedTuple):
    """The difference between the arms of a claim for one seed, as a weighted sum of runs.

    `added` is the sum of the terms with positive weight. `parts` has a contribution of each test
    sentence or block; the mean of these contributions is the difference. `parts` is None if the
    metric has no statistics.
    """

    difference: float
    added: float
    parts: Float[np.ndarray, " units"] | None


def contrast(claim: Claim, evidence: Evidence) -> Contrast:
    """Return the paired differences of a claim that compares arms.

    Raises:
        ContrastError: a trend has fewer than two levels, or a level without a logarithm.
        UserError: the recorded score of a run and its statistics disagree.
    """
    arms = sides(claim, evidence)
    every = {seed for side in arms for seed in side.runs}
    shared = shared_seeds(((x["levels"], x["seed"]) for x in evidence.runs), evidence.study)
    pairs = {seed: _difference(claim, arms, seed, evidence) for seed in sorted(every)}
    measured = {seed: pair for seed, pair in pairs.items() if pair is not None}
    parts = stacked([pair.parts for pair in measured.values()])
    split, _, name = claim["metric"].rpartition("/")
    units: Units = "blocks of text" if name in OF_TEXTS else "sentences"
    groups = None if name in OF_TEXTS else evidence.groups.get(split)
    if parts is not None and groups is not None:
        parts, units = by_group(parts, groups), "groups of sentences"
    predicted = claim.get("predicted") if claim["kind"] == "equivalence" else None
    gain = predicted["gain"] if predicted else 0.0
    # tables from elsewhere keep the test of their design; `changed` has no score of a single run
    pooled = "design" not in claim and claim["metric"].rpartition("/")[2] != CHANGED
    differences = np.array([pair.difference for pair in measured.values()], dtype=np.float64)
    return Contrast(
        seeds=[*measured],
        differences=differences - gain,
        added=np.array([pair.added for pair in measured.values()], dtype=np.float64),
        parts=None if parts is None else parts - gain,
        units=units,
        learned=np.array([_learned(arms, seed, claim["metric"]) for seed in measured], dtype=bool),
        sides=arms,
        unpaired=sorted((every & shared) - measured.keys()),
        looks=information_fractions(claim, evidence, complete_seeds(arms)),
        textbook=claim.get("test") == "textbook",
        noise=noise_of(claim, arms, evidence) if pooled else None,
        predicted=predicted,
    )


def control(claim: Claim, evidence: Evidence) -> ControlOutcome | None:
    """Return the positive control of a claim, as it is stored in verdict.json.

    The control is an arm that should lose more than the margin. If the control loses, the same runs
    could have shown the loss that the claim denies. The result is None if the claim names no
    control, or if the control has too few runs.
    """
    loses = claim.get("loses")
    if not loses:
        return None
    measure = claim["baseline"]
    paired = contrast({**claim, "treatment": measure | loses, "baseline": measure}, evidence)
    difference = paired.estimate
    if difference.pairs < 2:
        return None
    low, high = difference.interval(1 - claim["alpha"])
    return {
        "arm": arm_label(loses),
        "effect": difference.effect,
        "interval": [low, high],
        "loses": above(-claim["margin"], high, difference.scale),
    }


def _difference(claim: Claim, sides: list[Side], seed: int, evidence: Evidence) -> Pair | None:
    """Return the difference between the arms for a seed.

    The result is None if a run is missing, has failed, or lacks the metric.
    """
    for side in sides:
        runs = side.runs.get(seed, [])
        planned = max((len(side_runs) for side_runs in side.runs.values()), default=0)
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
    metric, log = claim["metric"], uses_logarithm(claim)
    scores = [w * in_scale(value(run, metric), log=log) for w, run in terms]
    added = sum(score for (w, _), score in zip(terms, scores, strict=True) if w > 0)
    total = difference(sum(scores), 0.0, max(map(abs, scores)))
    parts = stacked([contributions_to(run, metric, evidence, log=log) for _, run in terms])
    weights = np.array([[w] for w, _ in terms])
    return Pair(total, added, None if parts is None else (weights * parts).sum(0))


def stacked(
    parts: Sequence[Float[np.ndarray, " units"] | None],
) -> Float[np.ndarray, "rows units"] | None:
    """Return contributions as rows; None without rows, or if a row is missing or shorter."""
    rows = [row for row in parts if row is not None]
    whole = len(rows) == len(parts) and len({*map(len, rows)}) == 1
    return np.stack(rows) if whole else None


def contributions_to(
    run: Run, metric: str, evidence: Evidence, *, log: bool = False
) -> Float[np.ndarray, " units"] | None:
    """Return the contributions of sentences to a run's BLEU, or of blocks to the nll of a text and
    metrics proportional to it; all are equal if the run diverged or collapsed.

    The result is None if the metric is another one, or if the run has no statistics.
    """
    split, _, name = metric.rpartition("/")
    if name not in ("bleu", *OF_TEXTS):
        return None
    score, place = value(run, metric), split + NLL if name in OF_TEXTS else split
    if run["status"] != "finished":
        sizes = {len(shares[place]) for shares in evidence.statistics.values() if place in shares}
        return np.full(sizes.pop(), score) if len(sizes) == 1 else None
    rows = evidence.statistics.get(run["identity"], {}).get(place)
    if rows is None:
        return None
    if name == "bleu":
        shares = _checked(contributions(rows), run, metric)
    else:
        shares = _checked(contributions_of_blocks(rows), run, place)
        shares = shares * (score / nll if (nll := value(run, place)) else 1.0)
    return math.log(score) + shares / score - 1 if log else shares


def _checked(
    shares: Float[np.ndarray, " units"], run: Run, metric: str
) -> Float[np.ndarray, " units"]:
    """Return contributions to a metric of a run, after checking that their mean is its score."""
    score = value(run, metric)
    if not math.isclose(shares.mean(), score, rel_tol=SAME_SCORE, abs_tol=SAME_SCORE):
        raise UserError(
            f"run {run['identity']}: {metric} is recorded as {score:g}, "
            f"but its statistics give {shares.mean():g}"
        )
    return shares


def _changed(sides: list[Side], seed: int, metric: str, evidence: Evidence) -> Pair:
    """Return the difference of two arms in the metric `changed`, for one seed.

    The metric is the fraction of sentences whose translations by two runs differ in their BLEU
    statistics. Other differences are not recorded.
    """
    split = metric.rpartition("/")[0]
    total: Any = 0.0
    added = 0.0
    for first, second in zip(sides[::2], sides[1::2], strict=True):
        pairs = list(zip(first.runs[seed], second.runs[seed], strict=False))
        for pair in pairs:
            share = first.weight * differing_sentences(pair, split, evidence) / len(pairs)
            total, added = total + share, added + max(0.0, float(share.mean()))
    parts = np.asarray(total, dtype=np.float64)
    return Pair(float(parts.mean()), added, parts)


def _learned(sides: list[Side], seed: int, metric: str) -> bool:
    return all(has_learned(run, metric, side.all_runs) for side in sides for run in side.runs[seed])


def noise_of(claim: Claim, compared: list[Side], evidence: Evidence) -> Noise | None:
    """Return the noise of an effect in the metric of a claim, estimated from all arms of the study.

    The noise is None if the study has too few arms for it, or if a compared arm has too few runs
    that learned, or runs that do not vary.
    """
    weights: dict[str, float] = {}
    for side in compared:  # an arm may be on two sides of an interaction
        arms = {key(run["levels"]) for runs in side.runs.values() for run in runs}
        for arm in arms:
            weights[arm] = weights.get(arm, 0.0) + side.weight / len(arms)
    scores = scores_of(claim["metric"], evidence, log=uses_logarithm(claim))
    usable = {arm: row for arm, row in scores.items() if _varies(row[np.isfinite(row)])}
    if not weights or weights.keys() - usable.keys():
        return None
    stacked = np.stack([*usable.values()])
    unpaired = bool(evidence.study.get("baseline_seeds"))
    if (noise := arm_noise(stacked, unequal=unpaired)) is None:
        return None
    of_arms = np.array([weights.get(arm, 0.0) for arm in usable])
    seeds = sorted({run["seed"] for run in evidence.runs})

    def of_effect(pairs: list[int]) -> EffectNoise:
        paired = np.isin(seeds, pairs)
        return effect_noise(noise, of_arms, stacked, paired, with_unpaired=unpaired)

    return of_effect


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
    scores = {arm: np.full(len(seeds), np.nan) for arm in arms}
    for arm, runs in arms.items():
        for run in runs:
            with suppress(KeyError):  # the run lacks the metric
                if run["status"] != "failed" and has_learned(run, metric, runs):
                    score = in_scale(value(run, metric), log=log)
                    scores[arm][seeds.index(run["seed"])] = score
    return scores


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


def _varies(row: Float[np.ndarray, " runs"]) -> bool:
    return len(row) >= FEWEST_RUNS and not at_most(float(np.ptp(row)), 0.0, largest(row))


def history_of(claim: Question, evidence: Evidence) -> History:
    """Return the history of a claim in the analysis log.

    The history is empty for evidence without a log. The log lists the claims that involve chance,
    in order, so that a renamed claim keeps its history.
    """
    asked = evidence.registration.get("asked", {})
    claims = evidence.study["claims"]
    # an earlier version logged no exact claims
    for logged in (filter(involves_chance, claims), (x for x in claims if x["kind"] != "exact")):
        names = [*map(claim_name, logged)]
        if len(asked) == len(names):
            asked = dict(zip(names, asked.values(), strict=True))
            break
    return asked.get(claim_name(claim), NO_HISTORY)


def information_fractions(claim: Question, evidence: Evidence, seeds: Collection[int]) -> Fractions:
    """Return the fraction of the planned seeds that each analysis used; the current analysis is
    last.

    An earlier analysis counts only if it used some, but not all, of the current seeds. An analysis
    of all planned seeds leaves no alpha for later analyses. A later analysis is then judged like a
    single analysis, and its verdict is exploratory.

    Args:
        claim: the claim.
        evidence: the evidence, with the history of each claim.
        seeds: the seeds of the claim's finished runs.
    """
    planned = evidence.study["seeds"]
    saw = [len({*seeds} & {*seen}) for seen in history_of(claim, evidence)["looks"]]
    earlier = sorted({count for count in saw if 0 < count < len(seeds)})
    if not seeds or any(count >= planned for count in earlier):
        return ONCE
    return tuple(min(1.0, count / planned) for count in (*earlier, len(seeds)))
