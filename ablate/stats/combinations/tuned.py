"""Estimate the effect of each level where every level has its best learning rate.

One half of the recipes chooses the rates by validation scores, and the other half estimates the
difference between a level and the first level of its factor at the chosen rates. Then the halves
change places. The effect is the mean of both differences, over several random splits into halves,
each of which has half of the recipes of every level and rate.
If the rates depend on another factor, such as the optimizer, each level of that factor has its own
choice, and these levels count equally. Both choice and estimate use a model in which the effects of
all other factors add up. The standard error is a jackknife over recipes, which chooses the rates
again without each recipe.
Source: Chernozhukov et al. 2018, Econometrics Journal 21, C1 (cross-fitting, several splits); Efron
2014, JASA 109, 991 (the mean over several splits smooths the choice, so that the jackknife is
valid); Wager, Hastie and Efron 2014, JMLR 15, 1625 (what the small number of splits adds to the
jackknife is subtracted); MacKinnon, Nielsen and Webb 2023, arXiv:2205.03285 (clusters).
Differs: the variance is never below the variance with fixed choices.
Expect: with a single split and rates that are almost equal, the error of the choice is as large as
the error of the estimate, and an interval that ignores it is too short.

A plan can be forecast before any run: the variance of an effect with weights w of its runs is the
sum over recipes of s^2 sum(w^2) + d^2 (sum w)^2. Here s is the deviation between runs of a recipe,
and d is the deviation of recipes around the sum of their effects (Searle, Casella and McCulloch
1992, Variance Components). The forecast takes each rate as the chosen one in turn, and does not
contain the error of the choice.

The gain of the best recipe is predicted from the effects of its changes. The best recipe takes the
level with the best effect of each factor. The sum of these effects is too good, because the levels
were chosen by the same estimates. The prediction uses two copies of each estimate with independent
errors, drawn from the estimate: one copy chooses the levels, and the other has their effects.
Equation: with effects b, their covariance V and w ~ N(0, V), the copies are b + c w and b - w / c.
The prediction is the mean over w of the sum of b - w / c over the levels that b + c w chooses.
Its standard error is the delta method's, with the slope of the prediction in each effect.
Source: Rasines and Young 2023, Biometrika 110, 597 (splitting by added noise); Leiner et al. 2023,
arXiv:2112.11079 (data fission); Efron 2014, JASA 109, 991 (standard errors after selection).
Differs: the mean over many draws replaces a single draw.
Expect: if the gains add up, fresh runs of the best recipe reach the predicted gain. The prediction
is unbiased for recipes that are chosen with 1 + c^2 times the variance, which are slightly worse.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ablate.stats.combinations.effects import (
    Change,
    Columns,
    Estimates,
    LeastSquares,
    Runs,
    Scores,
    additive,
    average_effects,
)
from ablate.stats.combinations.interaction import interaction_variance

SPLITS = 10
DRAWS = 2000
NOISE = 0.5**0.5  # c

Cells = Int[np.ndarray, "levels by rates"]
Effects = Float[np.ndarray, "changes draws"]
Deviations = Float[np.ndarray, "changes recipes draws"]


def tuned_effects(
    runs: Runs,
    validation: Scores,
    scores: Scores,
    seed: int,
    splits: int = SPLITS,
    factor: int | None = None,
) -> Estimates:
    """Return the effect of each change at chosen learning rates.

    Args:
        runs: the runs that learned.
        validation: scores that choose the rates; lower is better.
        scores: scores whose differences are estimated.
        seed: seed of the random splits.
        splits: number of splits into halves.
        factor: the factor whose changes are estimated; default: all factors.
    """
    factors = dict.fromkeys(change.factor for change in runs.changes)
    if runs.rate is None:
        average = average_effects(runs, scores)
        of = [factor in (None, change.factor) for change in runs.changes]
        return Estimates(average.effect[of], average.deviations[of], average.df[of])
    rng = np.random.default_rng(seed)
    halves = {f: [_random_half(runs, f, rng) for _ in range(splits)] for f in factors}
    wanted = [f for f in factors if factor in (None, f)]
    parts = [_effects_of_factor(runs, f, halves[f], validation, scores) for f in wanted]
    return Estimates(
        np.concatenate([part.effect for part in parts]),
        np.concatenate([part.deviations for part in parts]),
        np.concatenate([part.df for part in parts]),
    )


def best_rate(
    runs: Runs, validation: Float[np.ndarray, " runs"], recipe: Int[np.ndarray, " factors"]
) -> int:
    """Return the number of the learning rate with which a recipe has the lowest expected validation
    score.

    The effects of all levels add up, and each depends on the learning rate.
    """
    if runs.rate is None:
        return 0
    columns = runs.rates_of_levels()
    model = np.concatenate((additive(runs).design_matrix, columns), 1)
    coefficients = np.linalg.lstsq(model, validation)[0][-columns.shape[1] :]
    levels = np.repeat(recipe[None], runs.sizes[runs.rate.factor], 0)
    levels[:, runs.rate.factor] = np.arange(len(levels))
    none = np.zeros(len(levels), np.int64)
    candidates = Runs(levels, none, none, none, runs.sizes, runs.rate)
    return int((candidates.rates_of_levels() @ coefficients).argmin())


@dataclass(frozen=True)
class _Half:
    """Adjusted means of the cells of one factor, `by` and the learning rate, in half of the runs.

    Attributes:
        cells: number of each cell.
        usable: whether each cell has a mean, also without any single recipe.
        validation: mean validation score of each cell.
        scores: mean score of each cell.
        validation_change: `validation` minus the mean without each recipe.
        scores_change: `scores` minus the mean without each recipe.
        df: degrees of freedom.
    """

    cells: Cells
    usable: Bool[np.ndarray, " cells"]
    validation: Float[np.ndarray, "cells draws"]
    scores: Float[np.ndarray, "cells draws"]
    validation_change: Float[np.ndarray, "cells recipes draws"]
    scores_change: Float[np.ndarray, "cells recipes draws"]
    df: float

    @classmethod
    def of(
        cls, runs: Runs, factor: int, validation: Scores, scores: Scores, recipes: int
    ) -> "_Half":
        """Return the means in `runs`, half of the runs, by a model in which the effects of the
        other factors add up.
        """
        cells, columns = cell_columns(runs, factor)
        model = LeastSquares(columns, runs.recipe, recipes)
        contrasts = np.eye(columns.shape[1])[: cells.size]
        choice, estimate = (model.estimates(contrasts, values) for values in (validation, scores))
        usable = np.isfinite(choice.effect[:, 0] + choice.error[:, 0])
        changes = choice.deviations, estimate.deviations
        return cls(cells, usable, choice.effect, estimate.effect, *changes, model.df)


def _choose(
    cells: Cells, means: Float[np.ndarray, "cells ..."], usable: Bool[np.ndarray, " cells"]
) -> Int[np.ndarray, "levels by ..."]:
    """Return the cell with the lowest mean for each level and level of `by`."""
    possible = np.where(usable.reshape(-1, *[1] * (means.ndim - 1)), means, np.inf)
    first = cells[:, :, 0].reshape(*cells.shape[:2], *[1] * (means.ndim - 1))
    return np.asarray(first + possible[cells].argmin(2))


def _random_half(runs: Runs, factor: int, rng: np.random.Generator) -> Bool[np.ndarray, " runs"]:
    """Return which runs belong to a random half of the recipes, which has half of each cell of the
    factor.
    """
    recipes, first = np.unique(runs.recipe, return_index=True)
    cell = cell_numbers(runs, factor)[1][first]
    order = rng.permutation(len(recipes))
    order = order[np.argsort(cell[order], kind="stable")]
    half = np.zeros(runs.recipes, dtype=np.int64)
    half[recipes[order]] = (np.arange(len(recipes)) + rng.integers(2)) % 2
    return np.asarray(half[runs.recipe] == 0)


def _effects_of_factor(
    runs: Runs,
    factor: int,
    first: list[Bool[np.ndarray, " runs"]],
    validation: Scores,
    scores: Scores,
) -> Estimates:
    """Return the effects of the changes of one factor, as means over several splits of the recipes.

    `first` has a mask of the runs in the first half, for each split.
    """
    parts = [_effects_of_split(runs, factor, of_first, validation, scores) for of_first in first]
    effects, fixed, chosen = (np.stack([part[k] for part in parts]) for k in range(3))
    deviations = (fixed + chosen).mean(0)
    squares = (deviations**2).sum(1)
    splits = max(len(first), 2)
    by_chance = ((fixed + chosen).var(0).sum(1) - effects.var(0)) / (splits - 1)
    least = (fixed.mean(0) ** 2).sum(1)
    scale = np.sqrt(np.fmax(squares - by_chance, least) / np.where(squares == 0, 1.0, squares))
    df = min(part[3] for part in parts)
    return Estimates(effects.mean(0), deviations * scale[:, None], np.full(len(deviations), df))


def _effects_of_split(
    runs: Runs, factor: int, first: Bool[np.ndarray, " runs"], validation: Scores, scores: Scores
) -> tuple[Effects, Deviations, Deviations, float]:
    """Return for one split of the recipes: the effects, their jackknife deviations with the chosen
    learning rates held fixed, the deviations due to choosing the learning rates anew, and the
    degrees of freedom.

    `first` is a mask of the runs in the first half.
    """
    half, other_half = (
        _Half.of(runs.subset(m), factor, validation[m], scores[m], runs.recipes)
        for m in (first, ~first)
    )
    parts = [_differences(*pair) for pair in ((half, other_half), (other_half, half))]
    effects, fixed, chosen = ((a + b) / 2 for a, b in zip(*parts, strict=True))
    return effects, fixed, chosen, half.df + other_half.df


def _differences(chooser: _Half, estimator: _Half) -> tuple[Effects, Deviations, Deviations]:
    """Return the difference of each level from the first level at the rates that one half chooses.

    The other half has the means. The deviations come from recipes of the half that estimates, and
    from recipes of the half that chooses.
    """
    usable = chooser.usable & estimator.usable
    chosen = _choose(chooser.cells, chooser.validation, usable)
    without = chooser.validation[:, None] - chooser.validation_change
    again = _choose(chooser.cells, without, usable)
    means = np.where(usable[:, None], estimator.scores, np.nan)
    levels = _take(means, chosen)
    fixed = _take(estimator.scores_change, chosen[:, :, None])
    changed = levels[:, None] - _take(means[:, None], again)
    return tuple(values[1:] - values[:1] for values in (levels, fixed, changed))


def _take(
    values: Float[np.ndarray, "cells ..."], chosen: Int[np.ndarray, "levels by *more"]
) -> Float[np.ndarray, "levels ..."]:
    """Return the values of the chosen cells, averaged over the levels of `by`."""
    return np.asarray(np.take_along_axis(values[:, None, None], chosen[None], 0)[0].mean(1))


def cell_numbers(runs: Runs, factor: int) -> tuple[Cells, Int[np.ndarray, " runs"]]:
    """Return the number of each cell of a factor, `by` and the learning rate, and the number of the
    cell of each run.
    """
    assert runs.rate is not None
    by = 1 if factor == runs.rate.by else runs.sizes[runs.rate.by]
    shape = (runs.sizes[factor], by, runs.sizes[runs.rate.factor])
    cells = np.arange(np.prod(shape)).reshape(shape)
    of_by = runs.levels[:, runs.rate.by] * (by > 1)
    return cells, cells[runs.levels[:, factor], of_by, runs.levels[:, runs.rate.factor]]


def cell_columns(runs: Runs, factor: int) -> tuple[Cells, Columns]:
    """Return the number of each cell, and the columns of the model: first one for each cell, then
    those of the other factors and of the thirds.
    """
    assert runs.rate is not None
    cells, number = cell_numbers(runs, factor)
    other_factors = sorted({change.factor for change in runs.changes} - {factor, runs.rate.by})
    parts = (np.eye(cells.size)[number], *map(runs.dummies, other_factors), runs.thirds())
    return cells, np.concatenate(parts, 1)


def expected_errors(
    runs: Runs, run_deviation: float, pair_deviation: float, *, tuned: bool
) -> Float[np.ndarray, " changes"]:
    """Return the standard error that the effect of each change will have.

    Args:
        runs: all runs of the plan.
        run_deviation: standard deviation between runs of a recipe.
        pair_deviation: standard deviation of the interaction of each two changes.
        tuned: whether the effects are those at chosen learning rates, not average effects.
    """
    of_recipe = pair_deviation**2 * interaction_variance(runs)
    if not tuned or runs.rate is None:
        weights = additive(runs).operator[1 : 1 + len(runs.changes)]
        return np.sqrt(_variance(runs, weights, run_deviation**2, of_recipe))
    errors = []
    for factor in dict.fromkeys(change.factor for change in runs.changes):
        cells, columns = cell_columns(runs, factor)
        operator = LeastSquares(columns, runs.recipe, runs.recipes).operator
        means = np.moveaxis(operator[cells].mean(1), 1, 0)  # rates, levels, runs
        variances = [
            _variance(runs, level[1:] - level[:1], run_deviation**2, of_recipe) for level in means
        ]
        errors.append(np.sqrt(np.mean(variances, 0)))
    return np.concatenate(errors)


def _variance(
    runs: Runs, weights: Float[np.ndarray, "changes runs"], of_run: float, of_recipe: float
) -> Float[np.ndarray, " changes"]:
    by_recipe = weights @ (runs.recipe[:, None] == np.unique(runs.recipe))
    return np.asarray(of_run * (weights**2).sum(1) + of_recipe * (by_recipe**2).sum(1))


@dataclass(frozen=True)
class Prediction:
    """The best recipe with predicted differences; negative differences are gains.

    Args:
        changes: the changes of the best recipe, with the largest predicted gain first.
        effects: predicted difference of each change, also when only this change is undone.
        errors: standard error of each of `effects`.
        effect: predicted difference of the best recipe from the recipe of all first levels.
        error: standard error of `effect`.
        rest_errors: standard error of `effect` minus each of `effects`.
    """

    changes: tuple[Change, ...]
    effects: tuple[float, ...]
    errors: tuple[float, ...]
    effect: float
    error: float
    rest_errors: tuple[float, ...]


def predict(
    changes: list[Change],
    effects: Float[np.ndarray, " changes"],
    deviations: Float[np.ndarray, "changes recipes"],
) -> Prediction:
    """Return the best recipe and its predicted difference; lower scores are better.

    Args:
        changes: the changes whose effects were estimated.
        effects: their effects; a change without an estimate (NaN) is not used.
        deviations: deviations of the effects, as in `Estimates`.
    """
    estimated = np.isfinite(effects) & np.isfinite(deviations).all(1)
    names = [change for change, usable in zip(changes, estimated, strict=True) if usable]
    effects, deviations = effects[estimated, None], deviations[estimated]
    rng = np.random.default_rng(0)
    noise = deviations @ rng.standard_normal((deviations.shape[1], DRAWS))
    predicted, slopes, best = (np.zeros(len(names)) for _ in range(3))
    for factor in {change.factor for change in names}:
        places = np.flatnonzero([change.factor == factor for change in names])
        predicted[places], slopes[places] = _of_factor(effects[places], noise[places])
        best[places] = best_level(effects[places])[:, 0]
    chosen = np.flatnonzero(best)
    chosen = chosen[np.argsort(predicted[chosen])]
    weighted = slopes[:, None] * deviations
    return Prediction(
        tuple(names[k] for k in chosen),
        tuple(predicted[chosen].tolist()),
        tuple(_error(deviations[[k]]) for k in chosen),
        float(predicted.sum()),
        _error(weighted),
        tuple(_error(np.delete(weighted, k, 0)) for k in chosen),
    )


def _of_factor(
    effects: Float[np.ndarray, "changes 1"], noise: Float[np.ndarray, "changes draws"]
) -> tuple[Float[np.ndarray, " changes"], Float[np.ndarray, " changes"]]:
    """Return what each change of a factor contributes to the prediction, and the slope of their sum
    in the effect of each change.
    """

    def contributions(effects: Float[np.ndarray, "changes 1"]) -> Float[np.ndarray, " changes"]:
        copies = (effects - noise / NOISE) * best_level(effects + NOISE * noise)
        return np.asarray(copies.mean(1))

    steps = np.diag(noise.std(1) / 2 + 1e-12)[:, :, None]
    ends = ((contributions(effects + x).sum(), contributions(effects - x).sum()) for x in steps)
    slopes = [(high - low) / (2 * x.sum()) for (high, low), x in zip(ends, steps, strict=True)]
    return contributions(effects), np.array(slopes)


def best_level(effects: Float[np.ndarray, "changes draws"]) -> Bool[np.ndarray, "changes draws"]:
    """Return which of the changes of a factor is best in each draw; none if the first level is."""
    best = np.zeros(effects.shape, dtype=bool)
    best[effects.argmin(0), np.arange(effects.shape[1])] = effects.min(0) < 0
    return best


def _error(deviations: Float[np.ndarray, "changes recipes"]) -> float:
    """Return the standard error of the sum of some effects."""
    return math.sqrt(float((deviations.sum(0) ** 2).sum()))
