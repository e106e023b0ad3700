"""Measure how far effects do not add up: the interaction that remains beyond run-to-run variation.

The variance between runs of one recipe is run-to-run variation. The variance of the means of
recipes around the additive model, beyond run-to-run variation, is interaction.
Source: Searle, Casella and McCulloch 1992, Variance Components (moments); Williams 1962, Biometrika
49, 278 (interval of a variance component, after Tukey); Holm 1979 (tests of several pairs).
Differs: the degrees of freedom of both variances are reduced by the measured kurtosis (Shoemaker
2003, American Statistician 57, 105), because noise with long tails makes variances less certain.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import special

from ablate.stats import adjust
from ablate.stats.combinations.effects import Change, LeastSquares, Runs, additive

STRONGEST = 5


class Interaction(NamedTuple):
    """The parts of the variance of runs.

    Attributes:
        run_deviation: standard deviation between runs of the same recipe; NaN if no recipe ran
            twice.
        deviation: standard deviation of recipes around the sum of their effects.
        interval: 95 % interval of `deviation`.
        pair_deviation: standard deviation of the interaction of two changes, if all pairs of
            changes contribute equally to `deviation`.
        share: proportion of the variance between recipes that the sum of effects explains.
    """

    run_deviation: float
    deviation: float
    interval: tuple[float, float]
    pair_deviation: float
    share: float


class PairTest(NamedTuple):
    """The interaction of two changes, found on one half of the recipes and tested on the other.

    Attributes:
        pair: the two changes.
        selected: estimate on the half that selected the pair.
        effect: estimate on the other half.
        error: standard error of `effect`.
        p: two-sided p-value, corrected for the number of tested pairs by Holm's method.
    """

    pair: tuple[Change, Change]
    selected: float
    effect: float
    error: float
    p: float


def interaction(
    runs: Runs, scores: Float[np.ndarray, " runs"], model: LeastSquares | None = None
) -> Interaction:
    """Return the run-to-run variation and the interaction.

    `model` is the additive model of the runs; default: it is fitted here.
    """
    model = model or additive(runs)
    _, of_run = np.unique(runs.recipe, return_inverse=True)
    member = np.eye(model.n_clusters)[of_run]
    count = member.sum(0)
    residuals = model.residuals(scores[:, None])[:, 0]
    means = (member.T @ residuals) / count
    within = (member.T @ (residuals - means[of_run]) ** 2)[count > 1]
    if not len(within) or not model.df:
        return Interaction(math.nan, math.nan, (0.0, math.inf), math.nan, math.nan)
    noise = float(within.sum() / (count - 1).sum())
    projected = np.einsum("gt,tg->", member.T @ model.design_matrix, model.operator @ member)
    scale = (len(scores) - float(projected)) / model.df  # of the interaction in the mean square
    between = count * means**2
    square = float(between.sum()) / model.df
    variance = max(0.0, (square - noise) / scale)
    dfs = _df(between, model.df), _df(within, float((count - 1).sum()))
    ends = [math.sqrt(max(0.0, end) / scale) for end in _interval(square, noise, *dfs)]
    deviation = math.sqrt(variance)
    share = 1 - variance / max(float(scores.var(ddof=1)) - noise, variance, 1e-300)
    pair_deviation = deviation / math.sqrt(interaction_variance(runs))
    return Interaction(math.sqrt(noise), deviation, (ends[0], ends[1]), pair_deviation, share)


def _df(squares: Float[np.ndarray, " recipes"], df: float) -> float:
    """Return the degrees of freedom of a variance, which long tails reduce."""
    spread = float(squares.var())
    return min(df, 2 * len(squares) * float(squares.mean()) ** 2 / spread) if spread else df


def _interval(between: float, noise: float, df: float, of_noise: float) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two mean squares, both with their degrees of
    freedom; the second is the mean square of the noise.
    """
    ends = []
    for p in (0.975, 0.025):
        excess = between - noise * float(special.fdtri(df, of_noise, p))
        ends.append(excess * df / float(special.chdtri(df, 1 - p)))
    return ends[0], ends[1]


def interaction_variance(runs: Runs) -> float:
    """Return the variance that interactions add to the score of a recipe when the interaction of
    every two changes of different factors has variance 1.
    """
    factors = {change.factor for change in runs.changes}
    parts = [(1 - 1 / runs.sizes[factor]) ** 2 for factor in factors]
    return sum(a * b for a, b in itertools.combinations(parts, 2))


def strongest_pairs(
    runs: Runs, scores: Float[np.ndarray, " runs"], count: int = STRONGEST
) -> list[PairTest]:
    """Return tests of the pairs of changes that interact most.

    The first half of the recipes finds the pairs with the largest absolute t, and the second half
    tests them.
    """
    pairs = [p for p in itertools.combinations(runs.changes, 2) if p[0].factor != p[1].factor]
    first_half, second_half = (_pair_effects(runs, half, pairs, scores) for half in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):  # pairs that no run determines
        t = np.abs(first_half[0] / first_half[1]) * (second_half[1] > 0)
    size = np.nan_to_num(t, nan=-1.0, posinf=-1.0)
    order = [int(k) for k in np.argsort(-size)[:count] if size[k] > 0]
    effects, errors, df = second_half
    p = [2 * float(special.stdtr(df, -abs(effects[k] / errors[k]))) for k in order]
    adjusted = adjust([{"p": value} for value in p], [0.05] * len(p))
    return [
        PairTest(pairs[k], float(first_half[0][k]), float(effects[k]), float(errors[k]), test["p"])
        for k, test in zip(order, adjusted, strict=True)
    ]


def _pair_effects(
    runs: Runs, half: int, pairs: list[tuple[Change, Change]], scores: Float[np.ndarray, " runs"]
) -> tuple[Float[np.ndarray, " pairs"], Float[np.ndarray, " pairs"], float]:
    """Estimate the interaction of each pair of changes from one half of the recipes.

    Return the interactions, their standard errors and the degrees of freedom. The standard errors
    are clustered by recipe. They are 0 for a pair whose interaction these runs do not determine,
    for example because no run contains both changes. `half` is the number of the half, 0 or 1.
    """
    member = runs.half == half
    part = runs.subset(member)
    model = LeastSquares(additive(part).design_matrix, part.recipe, runs.recipes)
    has = {change: 1.0 * (part.levels[:, change.factor] == change.level) for change in runs.changes}
    products = model.residuals(np.stack([has[a] * has[b] for a, b in pairs], 1))
    squares = (products**2).sum(0)
    squares[squares < 1e-8] = np.inf
    rest = model.residuals(scores[member][:, None])
    by_recipe = np.zeros((runs.recipes, len(pairs)))
    np.add.at(by_recipe, part.recipe, products * rest)
    inflation = model.n_clusters / max(model.df, 1.0)
    errors = np.sqrt(inflation * (by_recipe**2).sum(0)) / squares
    return (products.T @ rest)[:, 0] / squares, errors, model.df
