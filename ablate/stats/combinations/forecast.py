"""Forecast the standard errors of a plan before any run.

Equation: the variance of an effect with weights w of its runs is the sum over recipes of
s^2 sum(w^2) + d^2 (sum w)^2. Here s is the deviation between runs of a recipe, and d is the
deviation of recipes around the sum of their effects.
Source: Searle, Casella and McCulloch 1992, Variance Components.
Differs: the forecast for chosen learning rates takes each rate as the chosen one in turn, and does
not contain the error of the choice.
"""

import numpy as np
from jaxtyping import Float

from ablate.stats.combinations.effects import Runs, additive
from ablate.stats.combinations.interaction import pair_variance
from ablate.stats.combinations.least_squares import LeastSquares
from ablate.stats.combinations.tuned import cell_columns


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
    of_recipe = pair_deviation**2 * pair_variance(runs)
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
