"""Estimate the average effect of each level, over the recipes of a plan, with standard errors
clustered by recipe.

The effect of a level is the mean difference from the first level of its factor, where all other
factors take each of their levels equally often.
Source: Hainmueller, Hopkins and Yamamoto 2014, Political Analysis 22, 1 (average marginal component
effect, least squares on the levels).

Equation: Var(c'b) = (G - 1)/G * sum over recipes g of (c'b_(-g) - c'b)^2, where b_(-g) is the fit
without the runs of recipe g, and G is the number of recipes. The fits without a recipe follow from
the residuals e and the projection H: X (b - b_(-g)) is determined by (I - H_gg)^-1 e_g.
Source: MacKinnon, Nielsen and Webb 2023, arXiv:2205.03285 (cluster jackknife, CV3).
Differs: t has G minus the number of parameters as degrees of freedom, not G - 1.
Expect: standard errors that are slightly too large in small samples, never too small on average.

All runs are tested on one text, so the choice of the text moves all of them. Blocks of the text are
a second kind of cluster: the variance of an effect over blocks is added, without the part that is
in the variance over recipes already.
Source: Cameron, Gelbach and Miller 2011, JBES 29, 238 (clusters of two kinds); Satterthwaite 1946,
Biometrics Bulletin 2, 110 (degrees of freedom of the sum).
Differs: the part of an effect is never below 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

from ablate.stats.combinations.plan import Plan, Rate

ROUNDING = 1e-8

Scores = Float[np.ndarray, "runs draws"]


@dataclass(frozen=True)
class Estimates:
    """Effects with the parts of their errors that come from single recipes.

    Args:
        effect: the effects; NaN for an effect that the runs cannot determine.
        deviations: the effect minus the effect without a recipe, times sqrt((G - 1) / G). The
            covariance of two effects is the sum of the products of their deviations. Deviations of
            blocks of the test text may follow those of recipes.
        df: degrees of freedom of each standard error.
    """

    effect: Float[np.ndarray, "effects draws"]
    deviations: Float[np.ndarray, "effects recipes draws"]
    df: Float[np.ndarray, " effects"]

    @property
    def error(self) -> Float[np.ndarray, "effects draws"]:
        """The standard errors; NaN if an effect depends on a single recipe."""
        return np.sqrt((self.deviations**2).sum(1))

    def half_width(self, level: float) -> Float[np.ndarray, "effects draws"]:
        """Return half the width of the two-sided confidence intervals."""
        return -special.stdtrit(self.df[:, None], (1 - level) / 2) * self.error

    def p_at_most(self, x: float) -> Float[np.ndarray, "effects draws"]:
        """Return the one-sided p-values against "the true effect is at most x"."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(special.stdtr(self.df[:, None], (x - self.effect) / self.error))


def with_text(estimates: Estimates) -> Estimates:
    """Return estimates whose errors also cover the choice of the test text.

    Args:
        estimates: in the first column the effects on scores of the whole text, in the others the
            effects on contributions of its blocks, whose mean is the score. Without two blocks, the
            errors cover recipes alone.
    """
    whole = Estimates(estimates.effect[:, :1], estimates.deviations[:, :, :1], estimates.df)
    blocks, by_recipe = estimates.effect[:, 1:], estimates.deviations[:, :, 1:]
    count = blocks.shape[1]
    if count < 2:
        return whole
    apart = blocks - blocks.mean(1, keepdims=True)
    variance, of_recipes = apart.var(1, ddof=1), by_recipe.var(2, ddof=1).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(variance > 0, np.maximum(0.0, 1 - of_recipes / variance), 0.0)
    of_text = apart * np.sqrt(share / (count * (count - 1)))[:, None]
    deviations = np.concatenate((whole.deviations, of_text[:, :, None]), 1)
    recipes, text = whole.error[:, 0] ** 2, (of_text**2).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (recipes + text) ** 2 / (recipes**2 / estimates.df + text**2 / (count - 1))
    return Estimates(whole.effect, deviations, df)


class LeastSquares:
    """The linear operators of a model, for any number of data sets with the same runs.

    Args:
        design_matrix: a row for each run, and a column for each term of the model.
        recipe_of_run: number of each run's recipe; the runs of a recipe are one cluster.
        n_recipes: number of recipes of the plan, of which some may have no run here.
    """

    def __init__(
        self,
        design_matrix: Float[np.ndarray, "runs terms"],
        recipe_of_run: Int[np.ndarray, " runs"],
        n_recipes: int,
    ) -> None:
        self.design_matrix, self.recipe_of_run = design_matrix, recipe_of_run
        self.n_recipes, self.n_clusters = n_recipes, len(np.unique(recipe_of_run))
        self.operator = np.linalg.pinv(design_matrix)
        self.parameters = int(round(float(np.trace(self.operator @ design_matrix))))
        self.df = float(max(self.n_clusters - self.parameters, 0))
        self.left_out, self.pivotal = self._without_own_cluster()

    def _without_own_cluster(self) -> tuple[Float[np.ndarray, "r r"], Bool[np.ndarray, " r"]]:
        """Return the inverse of I - H within each cluster, and the runs whose cluster the fit
        cannot do without.
        """
        leverage = np.einsum("rt,tr->r", self.design_matrix, self.operator)
        pivotal = leverage > 1 - ROUNDING
        inverse = np.diag(1 / np.where(pivotal, 1.0, 1 - leverage))
        for recipe in np.flatnonzero(np.bincount(self.recipe_of_run) > 1):
            runs = np.flatnonzero(self.recipe_of_run == recipe)
            block = np.eye(len(runs)) - self.design_matrix[runs] @ self.operator[:, runs]
            pivotal[runs] = np.linalg.svd(block, compute_uv=False)[-1] < ROUNDING
            inverse[np.ix_(runs, runs)] = np.linalg.pinv(block, rcond=ROUNDING)
        return inverse, pivotal

    def residuals(self, scores: Scores) -> Scores:
        """Return the scores minus the fitted scores."""
        return scores - self.design_matrix @ (self.operator @ scores)

    def estimates(self, contrasts: Float[np.ndarray, "effects terms"], scores: Scores) -> Estimates:
        """Return the values of contrasts of the coefficients; NaN if no runs determine one."""
        projected = contrasts @ self.operator @ self.design_matrix
        weights = (contrasts @ self.operator)[:, :, None]
        effect = contrasts @ (self.operator @ scores)
        effect[~(np.abs(projected - contrasts).max(1) < ROUNDING)] = np.nan
        df = np.full(len(contrasts), self.df)
        return Estimates(effect, self.jackknife_deviations(weights, scores), df)

    def jackknife_deviations(
        self, weights: Float[np.ndarray, "effects runs 1"], scores: Scores
    ) -> Float[np.ndarray, "effects recipes draws"]:
        """Return, for each weighted sum of the scores, the scaled change when a recipe is removed,
        as in `Estimates`.

        The weights must be rows of the operator, or sums of its rows.
        """
        by_run = weights * (self.left_out @ self.residuals(scores))
        order = np.argsort(self.recipe_of_run, kind="stable")
        recipes, starts = np.unique(self.recipe_of_run[order], return_index=True)
        deviations = np.zeros((len(weights), self.n_recipes, scores.shape[1]))
        deviations[:, recipes] = np.add.reduceat(by_run[:, order], starts, 1)
        needed = (np.abs(weights[:, self.pivotal]) > ROUNDING).any(1)
        deviations *= (1 - 1 / max(self.n_clusters, 1)) ** 0.5
        return np.where(needed[:, None], np.nan, deviations)


Columns = Float[np.ndarray, "runs columns"]


class Change(NamedTuple):
    """A level that is compared with the first level of its factor."""

    factor: int
    level: int


@dataclass(frozen=True)
class Runs:
    """The runs of a plan that learned.

    Args:
        levels: level of each factor, also of the learning rate.
        recipe: recipe of each run.
        third: third of each run.
        half: half of each run, for estimates that are cross-fitted.
        sizes: number of levels of each factor.
        rate: the factor of the learning rate; None if every recipe has the same rate.
    """

    levels: Int[np.ndarray, "runs factors"]
    recipe: Int[np.ndarray, " runs"]
    third: Int[np.ndarray, " runs"]
    half: Int[np.ndarray, " runs"]
    sizes: tuple[int, ...]
    rate: Rate | None = None

    @classmethod
    def of(cls, plan: Plan, sizes: Sequence[int], rate: Rate | None = None) -> "Runs":
        """Return all runs of a plan."""
        recipe = plan.recipes_of_runs()
        parts = (plan.levels[recipe], recipe, plan.third[recipe], plan.half[recipe])
        return cls(*parts, tuple(sizes), rate)

    @property
    def recipes(self) -> int:
        """The number of the last recipe, plus one."""
        return int(self.recipe.max(initial=-1)) + 1

    def subset(self, chosen: Bool[np.ndarray, " runs"]) -> "Runs":
        """Return some of the runs."""
        parts = (self.levels[chosen], self.recipe[chosen], self.third[chosen], self.half[chosen])
        return Runs(*parts, self.sizes, self.rate)

    @property
    def changes(self) -> list[Change]:
        """The compared levels of all factors except the learning rate."""
        factors = [f for f in range(len(self.sizes)) if self.rate is None or f != self.rate.factor]
        return [Change(f, level) for f in factors for level in range(1, self.sizes[f])]

    def dummies(self, factor: int) -> Columns:
        """Return a column for each level of a factor except the first, 1 where a run has it."""
        return 1.0 * (self.levels[:, factor, None] == np.arange(1, self.sizes[factor]))

    def thirds(self) -> Columns:
        """Return a column for each third except the first."""
        return 1.0 * (self.third[:, None] == np.unique(self.third)[1:])

    def rates(self) -> Columns:
        """Return the columns of the learning rate, which sum to 0 over the rates of each level of
        the factor that they depend on.
        """
        if self.rate is None:
            return np.zeros((len(self.levels), 0))
        return self._times_rate(np.eye(self.sizes[self.rate.by])[self.levels[:, self.rate.by]])

    def rates_of_levels(self) -> Columns:
        """Return the columns of `rates`, and columns by which the effect of each other level
        depends on the learning rate.
        """
        assert self.rate is not None
        factors = sorted({change.factor for change in self.changes} - {self.rate.by})
        columns = [self._times_rate(self.dummies(factor)) for factor in factors]
        return np.concatenate((self.rates(), *columns), 1)

    def _times_rate(self, columns: Columns) -> Columns:
        """Return the products of columns and the learning rate, whose mean is 0."""
        assert self.rate is not None
        values = self.sizes[self.rate.factor]
        centred = np.eye(values)[:, 1:] - 1 / values
        rates = centred[self.levels[:, self.rate.factor]]
        products = columns[:, :, None] * rates[:, None, :]
        return np.asarray(products.reshape(len(rates), columns.shape[1] * (values - 1)))


def additive(runs: Runs) -> LeastSquares:
    """Return the model in which the effects of all levels add up; its terms after the first are
    the changes of `runs`.
    """
    factors = sorted({change.factor for change in runs.changes})
    intercept = np.ones((len(runs.levels), 1))
    parts = (intercept, *map(runs.dummies, factors), runs.rates(), runs.thirds())
    return LeastSquares(np.concatenate(parts, 1), runs.recipe, runs.recipes)


def average_effects(runs: Runs, scores: Scores) -> Estimates:
    """Return the average effect of each change; learning rates count equally."""
    model = additive(runs)
    terms = model.design_matrix.shape[1]
    return model.estimates(np.eye(terms)[1 : 1 + len(runs.changes)], scores)
