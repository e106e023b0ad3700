"""Estimate the average effect of each level, over the recipes of a plan.

The effect of a level is the mean difference from the first level of its factor, where all other
factors take each of their levels equally often.
Source: Hainmueller, Hopkins and Yamamoto 2014, Political Analysis 22, 1 (average marginal component
effect, least squares on the levels); Fisher 1935, The Design of Experiments (randomisation test).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ablate.stats.combinations.least_squares import Estimates, LeastSquares, Scores
from ablate.stats.combinations.plan import Levels, Pair, Plan, Rate, redraw

REDRAWN = 199

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
    return LeastSquares(_columns(runs), runs.recipe, runs.recipes)


def _columns(runs: Runs, without: int | None = None) -> Columns:
    factors = sorted({change.factor for change in runs.changes} - {without})
    intercept = np.ones((len(runs.levels), 1))
    parts = (intercept, *map(runs.dummies, factors), runs.rates(), runs.thirds())
    return np.concatenate(parts, 1)


def average_effects(runs: Runs, scores: Scores) -> Estimates:
    """Return the average effect of each change; learning rates count equally."""
    model = additive(runs)
    terms = model.columns.shape[1]
    return model.estimates(np.eye(terms)[1 : 1 + len(runs.changes)], scores)


def randomisation_p(
    plan: Levels,
    runs: Runs,
    scores: Float[np.ndarray, " runs"],
    excluded: Sequence[Pair],
    seed: int,
    redrawn: int = REDRAWN,
) -> Float[np.ndarray, " changes"]:
    """Return the p-value of each change if its factor has no effect on any run.

    The levels of the factor are drawn again, balanced against the other factors, which keep their
    levels. The statistic is the absolute effect of the change.

    Args:
        plan: levels of all recipes, also of recipes that failed.
        runs: the runs that learned.
        scores: their scores.
        excluded: pairs of levels that no recipe has.
        seed: seed of the random numbers.
        redrawn: number of plans that are drawn.
    """
    rng = np.random.default_rng(seed)
    p = []
    for factor in sorted({change.factor for change in runs.changes}):
        other_columns = _columns(runs, factor)
        rest = np.eye(len(scores)) - other_columns @ np.linalg.pinv(other_columns)
        columns = [plan[:, factor], *(redraw(plan, factor, excluded, rng) for _ in range(redrawn))]
        levels = np.arange(1, runs.sizes[factor])
        dummies = [rest @ (column[runs.recipe][:, None] == levels) for column in columns]
        effects = np.abs(np.linalg.pinv(np.stack(dummies)) @ (rest @ scores))
        p.append((effects >= effects[0] - 1e-12).mean(0))
    return np.concatenate(p)
