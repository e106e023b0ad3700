"""Estimate the effects in a study of combinations, in which each run informs all factors.

The effect of a claim compares two levels of a factor at chosen learning rates
(ablate.stats.combinations). Only runs that learned count. If the arms of a claim failed to learn at
different rates, the claim is undecided, because its runs are then a selection.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int

from ablate.config.combinations import (
    RATE,
    Combinations,
    levels_at,
    plan_of,
    rate_column,
    recipes,
    sizes,
)
from ablate.config.study import USUAL, Levels, Question, Study
from ablate.evidence.folder import Evidence, in_blocks
from ablate.evidence.outcome import Reason, Run, reason, value
from ablate.metric import metric_of
from ablate.stats.combinations.effects import Change, Estimates, Runs, average_effects, with_text
from ablate.stats.combinations.interaction import interaction, strongest_pairs
from ablate.stats.combinations.tuned import best_rate, predict, tuned_effects
from ablate.stats.means import MeanDifference, NoiseSource, VarianceTerm
from ablate.stats.rates import Rates
from ablate.verdict.contrast import contributions_to
from ablate.verdict.floor import has_learned
from ablate.verdict.types import COMBINATIONS, LEVEL, Combined, CombinedChange, PredictedRecipe

VALIDATION = "val/nll"  # the metric that chooses learning rates

Numbers = Int[np.ndarray, "runs factors"]


class ScoredRuns(NamedTuple):
    """The runs of a study that learned, with their scores; higher scores are better.

    Attributes:
        runs: the levels, recipes and thirds of the runs.
        scores: the metric, with its sign changed if lower is better; then the contributions of
            blocks of the test text to it, if all runs have them.
        validation: the metric that chooses learning rates, in each column; lower is better.
        seed: seed of the plan, from which random splits are drawn.
    """

    runs: Runs
    scores: Float[np.ndarray, "runs columns"]
    validation: Float[np.ndarray, "runs columns"]
    seed: int


def design_of(evidence: Evidence) -> Combinations:
    """Return the design of a study of combinations."""
    study = USUAL[Study] | cast(dict[str, Any], evidence.study)
    return cast(Combinations, {key: study[key] for key in Combinations.__annotations__})


def scored_runs(metric: str, better: str, design: Combinations, evidence: Evidence) -> ScoredRuns:
    """Return the runs that learned, with a metric of which higher or lower values are better."""
    ended = [run for run in evidence.runs if run["status"] != "failed"]
    members = [run for run in ended if has_learned(run, metric, (), recipes=evidence.runs)]
    levels = np.array([_numbers(design, run["levels"]) for run in members], dtype=np.int64)
    levels = levels.reshape(len(members), len(sizes(design)))
    recipe, third = _recipes(members, levels, design, evidence)
    half = np.random.default_rng(design["drawn_with"]).permutation(design["recipes"]) % 2
    runs = Runs(levels, recipe, third, half[recipe], tuple(sizes(design)), rate_column(design))
    sign = 1.0 if better == "higher" else -1.0
    scores, validation = (
        np.array([[value(run, name)] for run in members], dtype=np.float64).reshape(-1, 1)
        for name in (metric, VALIDATION if design["rate"] else metric)
    )
    scores = np.concatenate((scores, _blocks(members, metric, evidence)), 1)
    validation = np.repeat(validation, scores.shape[1], 1)
    return ScoredRuns(runs, sign * scores, validation, design["drawn_with"])


def _blocks(
    members: list[Run], metric: str, evidence: Evidence
) -> Float[np.ndarray, "runs blocks"]:
    """Return the contributions of blocks of the test text to the metric of each run; no column if
    a run has none.
    """
    every = [contributions_to(run, metric, evidence) for run in members]
    shares = [each for each in every if each is not None]
    if len(shares) < len(every) or len({*map(len, shares)}) != 1:
        return np.zeros((len(members), 0))
    blocks = in_blocks(np.stack(shares, 1)).T
    return np.asarray(blocks * (blocks.shape[1] / len(shares[0])))


def _recipes(
    members: list[Run], levels: Numbers, design: Combinations, evidence: Evidence
) -> tuple[Int[np.ndarray, " runs"], Int[np.ndarray, " runs"]]:
    """Return the recipe and the third of each run.

    In a table, runs with equal levels are a recipe, and all runs are of one third.
    """
    if evidence.is_table:
        recipe = np.unique(levels, axis=0, return_inverse=True)[1].reshape(-1)
        return recipe, np.zeros(len(members), np.int64)
    planned = {run.seed: run for run in recipes(design, plan_of(design))}
    of_runs = [(planned[run["seed"]].number, planned[run["seed"]].third) for run in members]
    recipe, third = np.array(of_runs, dtype=np.int64).reshape(-1, 2).T
    return recipe, third


def _numbers(design: Combinations, levels: Mapping[str, object]) -> list[int]:
    """Return the number of the level of each factor."""
    numbers = [[*names].index(str(levels[f])) for f, names in design["levels"].items()]
    if (rate := design["rate"]) is not None:
        values = rate["values"][str(levels[rate["by"]])]
        numbers.append(values.index(cast(float, levels[RATE])))
    return numbers


def of_recipes(
    claim: Question, evidence: Evidence, rates: Rates | None
) -> tuple[MeanDifference, Reason | None]:
    """Return the effect of a claim, and the reason why it is undecided whatever its effect, if
    there is one.

    `rates` has the rates of failed runs of both levels; None if no run failed.
    """
    effect = _effect(claim, design_of(evidence), evidence)
    if rates is not None:
        low, high = rates.interval(LEVEL)
        if low > 0 or high < 0:
            return effect, reason("failures_differ")
    return effect, None if effect.parts else reason("not_estimable")


def _effect(claim: Question, design: Combinations, evidence: Evidence) -> MeanDifference:
    """Return the effect of a claim at chosen learning rates, positive if the treatment is better;
    NaN if the runs cannot determine it.
    """
    data = scored_runs(claim["metric"], claim["better"], design, evidence)
    (factor,) = claim["treatment"]
    place, names = [*design["levels"]].index(factor), [*design["levels"][factor]]
    levels = [names.index(str(claim[arm][factor])) for arm in ("treatment", "baseline")]
    counts = tuple(int((data.runs.levels[:, place] == level).sum()) for level in levels)
    if not all(counts):
        return MeanDifference(math.nan, (), COMBINATIONS, counts)
    estimates = _tuned(data, place)
    first, second = (_of_level(estimates, level) for level in levels)
    effect, deviations = first[0] - second[0], first[1] - second[1]
    variance = float((deviations**2).sum())
    if not math.isfinite(effect + variance):
        return MeanDifference(math.nan, (), COMBINATIONS, counts)
    runs = len(data.scores)
    df = float(estimates.df.min())
    part = VarianceTerm(variance * runs, df, weight=1.0, runs=float(runs), fixed=True)
    return MeanDifference(effect, (part,), COMBINATIONS, counts, noise_sources=noise_of(data))


def noise_of(data: ScoredRuns) -> tuple[NoiseSource, ...]:
    """Return the sources of variation that the errors of effects cover."""
    return ("runs", "blocks of text") if data.scores.shape[1] > 2 else ("runs",)


def _tuned(data: ScoredRuns, factor: int | None = None) -> Estimates:
    """Return the effects of one factor, or of all factors, at chosen learning rates."""
    parts = data.runs, data.validation, data.scores, data.seed
    return with_text(tuned_effects(*parts, factor=factor))


def _of_level(estimates: Estimates, level: int) -> tuple[float, Float[np.ndarray, " recipes"]]:
    """Return the effect of a level with its deviations; 0 for the first level of the factor.

    Args:
        estimates: the effects of all levels of the factor but the first.
        level: number of the level.
    """
    if not level:
        return 0.0, np.zeros(estimates.deviations.shape[1])
    return float(estimates.effect[level - 1, 0]), estimates.deviations[level - 1, :, 0]


def combined_results(evidence: Evidence) -> Combined | None:
    """Return what a study of combinations found about all its factors, in the metric of its first
    claim; None if no run learned.
    """
    design, claim = design_of(evidence), evidence.study["claims"][0]
    better = metric_of(claim["metric"]).better or claim["better"]
    data = scored_runs(claim["metric"], better, design, evidence)
    if not len(data.scores):
        return None
    scores = data.scores[:, 0]
    measured = interaction(data.runs, scores)
    changes = [*_changes(data, design)]
    return {
        "metric": claim["metric"],
        "better": better,
        "runs": len(scores),
        "recipes": len(np.unique(data.runs.recipe)),
        "run_deviation": measured.run_deviation,
        "interaction": measured.deviation,
        "interaction_interval": [*measured.interval],
        "pair_deviation": measured.pair_deviation,
        "share": measured.share,
        "changes": changes,
        "pairs": [
            {
                "levels": {**_named(design, test.pair[0]), **_named(design, test.pair[1])},
                "selected": test.selected,
                "effect": test.effect,
                "error": test.error,
                "p": test.p,
            }
            for test in strongest_pairs(data.runs, scores)
        ],
        "unestimated": [x["level"] for x in changes if x["half_width"] is None],
        "best": _prediction(data, design),
    }


def _changes(data: ScoredRuns, design: Combinations) -> Iterator[CombinedChange]:
    """Yield the effect of every change."""
    average, tuned = with_text(average_effects(data.runs, data.scores)), _tuned(data)
    widths = tuned.half_width(LEVEL)[:, 0], average.half_width(LEVEL)[:, 0]
    for k, change in enumerate(data.runs.changes):
        yield {
            "level": _named(design, change),
            "effect": _finite(tuned.effect[k, 0]),
            "half_width": _finite(widths[0][k]) if math.isfinite(tuned.effect[k, 0]) else None,
            "average": _finite(average.effect[k, 0]),
            "average_half_width": _finite(widths[1][k]),
        }


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _prediction(data: ScoredRuns, design: Combinations) -> PredictedRecipe:
    """Return the best recipe with its predicted gain."""
    tuned = _tuned(data)
    best = predict(data.runs.changes, -tuned.effect[:, 0], tuned.deviations[:, :, 0])
    parts = zip(best.changes, best.effects, best.errors, best.rest_errors, strict=True)
    return {
        "first": _recipe(design, data, ()),
        "levels": _recipe(design, data, best.changes),
        "gain": -best.effect,
        "error": best.error,
        "df": float(tuned.df[np.isfinite(tuned.df)].min(initial=len(data.scores))),
        "parts": [
            {
                "level": _named(design, change),
                "levels": _recipe(design, data, {*best.changes} - {change}),
                "gain": -effect,
                "error": error,
                "rest": effect - best.effect,
                "rest_error": rest_error,
            }
            for change, effect, error, rest_error in parts
        ],
    }


def _named(design: Combinations, change: Change) -> dict[str, str]:
    factor = [*design["levels"]][change.factor]
    return {factor: [*design["levels"][factor]][change.level]}


def _recipe(design: Combinations, data: ScoredRuns, changes: Iterable[Change]) -> Levels:
    """Return the levels of the recipe with some changes, with its best learning rate."""
    row = np.zeros(len(data.runs.sizes), np.int64)
    for change in changes:
        row[change.factor] = change.level
    if data.runs.rate is not None:
        row[data.runs.rate.factor] = best_rate(data.runs, data.validation[:, 0], row)
    return levels_at(design, row.tolist())
