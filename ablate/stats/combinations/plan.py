"""Draw a balanced plan: every recipe takes one level of every factor at random.

Each level of a factor occurs equally often, and so does each pair of levels of two factors, as far
as excluded pairs allow. The third and the half of each recipe, and whether the recipe runs twice,
are balanced like factors.
Source: Li and Wu 1997, Technometrics 39, 171 (columnwise-pairwise exchanges). Each column starts as
a random permutation. Two recipes exchange their levels of one factor while this reduces the sum of
the squared deviations of the counts of pairs from equal counts.
Differs: the exchanges stop after a few passes, so that plans of different seeds differ.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

PASSES = 3
VIOLATION = 1e6  # costs more than any imbalance

Levels = Int[np.ndarray, "recipes factors"]


class Pair(NamedTuple):
    """A level of one factor with a level of another factor."""

    factor: int
    level: int
    other: int
    other_level: int


class Rate(NamedTuple):
    """The factor of the learning rate, whose values depend on the level of another factor."""

    factor: int
    by: int


@dataclass(frozen=True)
class Plan:
    """The levels of every recipe, with its third, its half, and whether it runs twice.

    Both runs of a repeated recipe belong to the same third and the same half.
    """

    levels: Levels
    third: Int[np.ndarray, " recipes"]
    half: Int[np.ndarray, " recipes"]
    repeated: Bool[np.ndarray, " recipes"]

    def recipes_of_runs(self) -> Int[np.ndarray, " runs"]:
        """Return the recipe of every run; the second runs of repeated recipes come last."""
        return np.concatenate([np.arange(len(self.levels)), np.flatnonzero(self.repeated)])


def draw(
    recipes: int,
    levels: Sequence[int],
    excluded: Sequence[Pair],
    repeated: int,
    seed: int,
    rate: Rate | None = None,
) -> Plan:
    """Return a plan that is determined by the seed.

    Args:
        recipes: number of different recipes.
        levels: number of levels of each factor.
        excluded: pairs of levels that no recipe has.
        repeated: number of recipes that run twice.
        seed: seed of the random numbers.
        rate: the factor of the learning rate, which must be the last one. The rates of each level
            of the other factor that it names are balanced like levels of one factor.

    Raises:
        ValueError: the excluded pairs leave no plan in which all levels occur equally often.
    """
    if rate is not None:
        return _with_rates(recipes, levels, excluded, repeated, seed, rate)
    rng = np.random.default_rng(seed)
    sizes = [*(_counts(recipes, k, rng) for k in [*levels, 3, 2]), [recipes - repeated, repeated]]
    columns = np.stack([rng.permutation(np.repeat(np.arange(len(n)), n)) for n in sizes], 1)
    for _ in range(PASSES):
        for factor in rng.permutation(len(sizes)):
            columns[:, factor] = _balanced(columns, int(factor), excluded)
    if any(_violations(columns, pair).any() for pair in excluded):
        raise ValueError("the excluded pairs leave no plan in which all levels occur equally often")
    *_, third, half, twice = columns.T
    return Plan(columns[:, : len(levels)], third, half, twice.astype(bool))


def _with_rates(
    recipes: int,
    levels: Sequence[int],
    excluded: Sequence[Pair],
    repeated: int,
    seed: int,
    rate: Rate,
) -> Plan:
    """Return a plan in which a level and its learning rate are drawn as one level."""
    *sizes, rates = levels
    sizes[rate.by] *= rates
    apart = [
        Pair(*(place for part in pair for place in part))
        for excluding in excluded
        for pair in itertools.product(
            *(_joint(*part, rate, rates) for part in (excluding[:2], excluding[2:]))
        )
    ]
    plan = draw(recipes, sizes, apart, repeated, seed)
    joint = plan.levels[:, rate.by]
    columns = np.concatenate((plan.levels, joint[:, None] % rates), 1)
    columns[:, rate.by] = joint // rates
    return replace(plan, levels=columns)


def _joint(factor: int, level: int, rate: Rate, rates: int) -> list[tuple[int, int]]:
    """Return the levels that a level becomes when levels and learning rates are drawn as one."""
    if factor != rate.by:
        return [(factor, level)]
    return [(factor, level * rates + number) for number in range(rates)]


def imbalance(levels: Levels, excluded: Sequence[Pair]) -> tuple[int, float]:
    """Return the largest difference between the counts of two levels of a factor, and the largest
    deviation of the count of a pair of levels from its expected count.

    Pairs of two factors that have an excluded pair are left out, because they cannot be equal.
    """
    tables = [np.bincount(column) for column in levels.T]
    apart = {frozenset((pair.factor, pair.other)) for pair in excluded}
    deviations = [0.0]
    for f, g in itertools.combinations(range(levels.shape[1]), 2):
        if frozenset((f, g)) not in apart:
            counts = np.zeros((len(tables[f]), len(tables[g])))
            np.add.at(counts, (levels[:, f], levels[:, g]), 1)
            expected = np.outer(tables[f], tables[g]) / len(levels)
            deviations.append(float(np.abs(counts - expected).max()))
    return max(int(np.ptp(table)) for table in tables), max(deviations)


def _counts(recipes: int, levels: int, rng: np.random.Generator) -> list[int]:
    """Return the number of recipes of each level; the numbers differ by at most one."""
    more = set(rng.permutation(levels)[: recipes % levels].tolist())
    return [recipes // levels + (level in more) for level in range(levels)]


def _violations(columns: Levels, pair: Pair) -> Bool[np.ndarray, " recipes"]:
    first = columns[:, pair.factor] == pair.level
    return np.asarray(first & (columns[:, pair.other] == pair.other_level))


def _forbidden(
    columns: Levels, factor: int, levels: int, excluded: Sequence[Pair]
) -> Float[np.ndarray, "recipes levels"]:
    """Return 1 where a level of the factor would make an excluded pair with another level of the
    recipe, else 0.
    """
    forbidden = np.zeros((len(columns), levels))
    for pair in excluded:
        for f, level, other, other_level in (pair, (*pair[2:], *pair[:2])):
            if f == factor:
                forbidden[columns[:, other] == other_level, level] = 1.0
    return forbidden


def _balanced(
    columns: Levels, factor: int, excluded: Sequence[Pair]
) -> Int[np.ndarray, " recipes"]:
    """Return the levels of one factor after exchanges between recipes."""
    column = columns[:, factor].copy()
    sizes = np.bincount(column)
    rest = np.delete(columns, factor, 1).T
    one_hot = np.concatenate([levels[:, None] == np.unique(levels) for levels in rest], 1) * 1.0
    expected = np.outer(sizes, one_hot.mean(0))
    forbidden = VIOLATION * _forbidden(columns, factor, len(sizes), excluded)
    pairs = list(itertools.permutations(range(len(sizes)), 2))
    while any([_exchange(column, pair, one_hot, expected, forbidden) for pair in pairs]):
        pass
    return column


def _exchange(
    column: Int[np.ndarray, " recipes"],
    pair: tuple[int, int],
    other_columns: Float[np.ndarray, "recipes other_columns"],
    expected: Float[np.ndarray, "levels other_columns"],
    forbidden: Float[np.ndarray, "recipes levels"],
) -> bool:
    """Exchange two levels between the two recipes for which this promises the largest gain.

    Returns whether the exchange reduced the imbalance; otherwise `column` is not changed.
    """
    u, v = pair
    of_u, of_v = np.flatnonzero(column == u), np.flatnonzero(column == v)
    if not len(of_u) or not len(of_v):
        return False
    excess = other_columns[of_u].sum(0) - expected[u] - other_columns[of_v].sum(0) + expected[v]
    cost = 2 * other_columns @ excess + forbidden[:, u] - forbidden[:, v]
    i, j = of_u[cost[of_u].argmax()], of_v[cost[of_v].argmin()]
    change = cost[j] - cost[i] + 2 * float(((other_columns[i] - other_columns[j]) ** 2).sum())
    if change >= -1e-9:
        return False
    column[i], column[j] = v, u
    return True
