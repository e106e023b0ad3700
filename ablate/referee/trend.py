"""Estimate a trend: the slope of the metric over a numeric column, from all runs or within each
pair.
"""

import math

import numpy as np
from jaxtyping import Float, Int

from ablate.errors import UserError
from ablate.evidence.foreign.table import Numbers
from ablate.referee.arms import Arm, in_order
from ablate.referee.means import corrected
from ablate.referee.question import Claim
from ablate.referee.runs import Runs
from ablate.stats.means import MeanDifference, mean_of, slope, sum_of

SLOPE, SLOPES = "least squares", "t over the slopes of pairs"
LEAST_LEVELS = 2
Points = tuple[Numbers, Numbers, Int[np.ndarray, " rows"]]  # x, y, and the row numbers of the runs
Slopes = Float[np.ndarray, "pairs 2"]  # the slope, and its positive terms alone


def trend(claim: Claim, runs: Runs, arms: tuple[Arm, ...]) -> tuple[MeanDifference, int]:
    """Return the slope of a trend claim, positive if the metric gets better, and the number of
    incomplete pairs.

    With `minus`, the effect is the difference of two slopes.

    Args:
        claim: the claim, with the column and the scale of the trend.
        runs: the runs of the table.
        arms: one arm, and with `minus` a second arm of weight -1.

    Raises:
        UserError: a value has no logarithm.
    """
    points = [_points(claim, runs, arm) for arm in arms]
    signs = [arm.weight * runs.design.sign for arm in arms]
    if not runs.design.pair:
        slopes_of_arms = [
            _slope(x, sign * y) for sign, (x, y, _) in zip(signs, points, strict=True)
        ]
        return sum_of(slopes_of_arms, SLOPE), 0
    pairs, labels = runs.table.column(runs.design.pair, "pair").labels()
    slopes = np.full((len(arms), len(labels), 2), np.nan)
    present = np.zeros(len(labels), dtype=bool)
    for row, sign, (x, y, places) in zip(slopes, signs, points, strict=True):
        _fill(row, sign, x, y, pairs[places])
        present[pairs[places][pairs[places] >= 0]] = True
    sums = slopes.sum(0)
    whole = np.isfinite(sums).all(1)
    differences, plus = in_order(sums[whole]).T
    effect = mean_of(differences, SLOPES + corrected(runs.design), plus=plus)
    return effect, int((present & ~whole).sum())


def _points(claim: Claim, runs: Runs, arm: Arm) -> Points:
    """Return x, y and row numbers of the runs of an arm that have both values, sorted by x and
    y.
    """
    x, y = runs.table.numbers(claim.over, "over")[arm.rows], arm.scores
    counted = np.isfinite(x) & np.isfinite(y)
    x, y, places = x[counted], y[counted], arm.rows[counted]
    if claim.scale != "linear" and len(x) and x.min() <= 0:
        raise UserError(
            f"scale={claim.scale}: {claim.over}={x.min():g} has no logarithm; use scale=linear"
        )
    if claim.scale == "log_log" and len(y) and y.min() <= 0:
        raise UserError(
            f"scale=log_log: a metric of {y.min():g} has no logarithm; use scale=log or linear"
        )
    if claim.scale != "linear":
        x, y = (np.log2(x), y) if claim.scale == "log" else (np.log(x), np.log(y))
    order = np.lexsort((y, x))
    return x[order], y[order], places[order]


def _slope(x: Numbers, y: Numbers) -> MeanDifference:
    if len(np.unique(x)) < LEAST_LEVELS:
        return MeanDifference(math.nan, (), SLOPE, (len(x),))
    return slope(x, y, SLOPE)


def _fill(
    slopes: Slopes, sign: float, x: Numbers, y: Numbers, pairs: Int[np.ndarray, " rows"]
) -> None:
    """Write the slope of each pair into `slopes`, if the pair has exactly one run at every value of
    x.

    Args:
        slopes: array to fill; slope and sum of its positive terms by pair.
        sign: 1 or -1, factor of the slopes.
        x, y: values of all runs of an arm.
        pairs: number of the pair that each run belongs to.
    """
    levels = np.unique(x)
    if len(levels) < LEAST_LEVELS:
        return
    order = np.lexsort((x, pairs))
    names, starts, counts = np.unique(pairs[order], return_index=True, return_counts=True)
    whole = (counts == len(levels)) & (names >= 0)
    places = order[starts[whole][:, None] + np.arange(len(levels))]
    once = (x[places] == levels).all(1)
    weights = sign * (levels - levels.mean()) / ((levels - levels.mean()) ** 2).sum()
    terms = weights * y[places[once]]
    slopes[names[whole][once]] = np.stack([terms.sum(1), terms[:, weights > 0].sum(1)], 1)
