"""Estimate the effects of a study of combinations, in which each run informs all factors.

The effect of a claim compares two levels of a factor at chosen learning rates
(ablate.stats.combinations). Only runs that learned count. If the arms of a claim failed to learn at
different rates, the claim is undecided, because its runs are then a selection.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Float

from ablate.config.combinations import RATE, Combinations, plan_of, rate_column, recipes, sizes
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.types import Combined, Question, Reason, Run, reason
from ablate.stats.combinations.effects import Change, Runs, average_effects
from ablate.stats.combinations.interaction import interaction, strongest_pairs
from ablate.stats.combinations.least_squares import Estimates
from ablate.stats.combinations.prediction import predict
from ablate.stats.combinations.tuned import tuned_effects
from ablate.stats.means import MeanDifference, Part, Variance
from ablate.stats.rates import Rates
from ablate.verdict.floor import has_learned
from ablate.verdict.sides import Side

VALIDATION = "val/nll"  # the metric that chooses learning rates
METHOD = "combinations"
LEVEL = 0.95


class Scored(NamedTuple):
    """The runs of a study that learned, with their scores; higher scores are better.

    Attributes:
        runs: the levels, recipes and thirds of the runs.
        scores: the metric, with its sign changed if lower is better.
        validation: the metric that chooses learning rates; lower is better.
        seed: seed of the plan, from which random splits are drawn.
    """

    runs: Runs
    scores: Float[np.ndarray, "runs 1"]
    validation: Float[np.ndarray, "runs 1"]
    seed: int


def design_of(evidence: Evidence) -> Combinations | None:
    """Return the design of a study of combinations; None for another study."""
    study = evidence.study
    if not study.get("design"):
        return None
    return {
        "recipes": study["recipes"],
        "repeated": study.get("repeated", 0),
        "drawn_with": study.get("drawn_with", 0),
        "levels": study["levels"],
        "rate": study.get("rate"),
        "excluded": study.get("excluded", []),
    }


def scored(claim: Question, design: Combinations, evidence: Evidence) -> Scored:
    """Return the runs that learned, with the metric of a claim."""
    planned = {run.seed: run for run in recipes(design, plan_of(design))}
    whole = Side(1.0, {}, {run["cell"]: [run] for run in evidence.runs})
    members = [r for r in evidence.runs if _counts(r, claim["metric"], whole)]
    levels = np.array([_numbers(design, run["levels"]) for run in members], dtype=np.int64)
    levels = levels.reshape(len(members), len(sizes(design)))
    recipe = np.array([planned[run["seed"]].number for run in members], dtype=np.int64)
    third = np.array([planned[run["seed"]].third for run in members], dtype=np.int64)
    half = np.random.default_rng(design["drawn_with"]).permutation(design["recipes"]) % 2
    runs = Runs(levels, recipe, third, half[recipe], tuple(sizes(design)), rate_column(design))
    sign = 1.0 if claim["better"] == "higher" else -1.0
    scores, validation = (
        np.array([[value(run, metric)] for run in members], dtype=np.float64).reshape(-1, 1)
        for metric in (claim["metric"], VALIDATION)
    )
    return Scored(runs, sign * scores, validation, design["drawn_with"])


def _counts(run: Run, metric: str, whole: Side) -> bool:
    return run["status"] != "failed" and has_learned(run, metric, whole)


def _numbers(design: Combinations, levels: Mapping[str, object]) -> list[int]:
    """Return the number of the level of each factor."""
    numbers = [[*names].index(str(levels[f])) for f, names in design["levels"].items()]
    if (rate := design["rate"]) is not None:
        values = rate["values"][str(levels[rate["by"]])]
        numbers.append(values.index(cast(float, levels[RATE])))
    return numbers


def effect_of(claim: Question, design: Combinations, evidence: Evidence) -> MeanDifference:
    """Return the effect of a claim at chosen learning rates, positive if the treatment is better;
    NaN if the runs cannot determine it.
    """
    data = scored(claim, design, evidence)
    (factor,) = claim["treatment"]
    place, names = [*design["levels"]].index(factor), [*design["levels"][factor]]
    levels = [names.index(str(claim[arm][factor])) for arm in ("treatment", "baseline")]
    counts = tuple(int((data.runs.levels[:, place] == level).sum()) for level in levels)
    if not all(counts):
        return MeanDifference(math.nan, (), METHOD, counts)
    estimates = tuned_effects(data.runs, data.validation, data.scores, data.seed)
    first, second = (_of_level(estimates, data.runs, Change(place, level)) for level in levels)
    effect, deviations = first[0] - second[0], first[1] - second[1]
    variance = float((deviations**2).sum())
    if not math.isfinite(effect + variance):
        return MeanDifference(math.nan, (), METHOD, counts)
    runs = len(data.scores)
    parts = (Part(Variance(variance * runs, estimates.df, METHOD), 1.0, float(runs)),)
    return MeanDifference(effect, parts, METHOD, counts)


def _of_level(
    estimates: Estimates, runs: Runs, change: Change
) -> tuple[float, Float[np.ndarray, " recipes"]]:
    """Return the effect of a level with its deviations; 0 for the first level of a factor."""
    if not change.level:
        return 0.0, np.zeros(estimates.deviations.shape[1])
    place = runs.changes.index(change)
    return float(estimates.effect[place, 0]), estimates.deviations[place, :, 0]


def problem_of(effect: MeanDifference, rates: Rates | None) -> Reason | None:
    """Return the reason why a claim is undecided whatever its effect, else None."""
    if rates is not None:
        low, high = rates.interval(LEVEL)
        if low > 0 or high < 0:
            return reason("failures_differ")
    return None if effect.parts else reason("not_estimable")


def combined(evidence: Evidence) -> Combined | None:
    """Return what a study of combinations found about all its factors, in the metric of its first
    claim; None for another study, and if no run learned.
    """
    if (design := design_of(evidence)) is None:
        return None
    claim = evidence.study["claims"][0]
    data = scored(claim, design, evidence)
    if not len(data.scores):
        return None
    scores = data.scores[:, 0]
    measured = interaction(data.runs, scores)
    average = average_effects(data.runs, data.scores)
    tuned = tuned_effects(data.runs, data.validation, data.scores, data.seed)
    best = predict(data.runs.changes, -tuned.effect[:, 0], tuned.deviations[:, :, 0])
    return {
        "metric": claim["metric"],
        "runs": len(scores),
        "recipes": data.runs.recipes,
        "run_deviation": measured.run_deviation,
        "interaction": measured.deviation,
        "interaction_interval": [*measured.interval],
        "pair_deviation": measured.pair_deviation,
        "share": measured.share,
        "changes": [
            {
                "level": _named(design, change),
                "effect": float(tuned.effect[k, 0]),
                "half_width": float(tuned.half_width(LEVEL)[k, 0]),
                "average": float(average.effect[k, 0]),
                "average_half_width": float(average.half_width(LEVEL)[k, 0]),
            }
            for k, change in enumerate(data.runs.changes)
        ],
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
        "best": _recipe(design, best.changes),
        "predicted": -best.effect,
        "predicted_error": best.error,
    }


def _named(design: Combinations, change: Change) -> dict[str, str]:
    factor = [*design["levels"]][change.factor]
    return {factor: [*design["levels"][factor]][change.level]}


def _recipe(design: Combinations, changes: Sequence[Change]) -> dict[str, str]:
    """Return the levels of a recipe with some changes, by factor."""
    levels = {factor: next(iter(names)) for factor, names in design["levels"].items()}
    for change in changes:
        levels |= _named(design, change)
    return levels
