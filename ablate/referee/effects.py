"""Estimate the effect of a claim on the runs of its arms.

A mean difference comes from pairs, from unpaired arms, or from an arm and a number. A trend is the
slope of the metric over a numeric column, from all runs or within each pair. An exact claim must
hold in every run: the value of each run is within a tolerance of a number, or of the value of the
paired run. With a margin, the value must be at least this far away. The rule is that of exact
claims about sweeps (ablate.verdict.exact), with one difference. The models of a sweep are a sample,
so a property of all models is estimated. A claim about a table of runs that this package did not
make is only about the runs in the table. A run without a finite value violates the claim.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from ablate.errors import UserError
from ablate.evidence.foreign.table import Numbers
from ablate.referee.question import Claim, Noise
from ablate.referee.runs import Arm, Runs, in_order, pairs_of
from ablate.stats.means import (
    MeanDifference,
    Variance,
    contrast,
    largest,
    mean_of,
    slope,
    sum_of,
    variance_of,
)
from ablate.stats.rates import Rates
from ablate.verdict.exact import Case, Exact

PAIRED, WELCH, TARGET, CONTRAST = "paired t", "Welch's t", "one-sample t", "t of a contrast"
STATED = "z or t, stated noise"
SLOPE, SLOPES = "least squares", "t over the slopes of pairs"
LEAST_LEVELS = 2
Arms = tuple[Arm, ...]
Points = tuple[Numbers, Numbers, Int[np.ndarray, " rows"]]  # x, y, and the row numbers of the runs
Slopes = Float[np.ndarray, "pairs 2"]  # the slope, and its positive terms alone


Effect = MeanDifference | Rates | Exact


def effect_of(claim: Claim, runs: Runs, arms: Arms) -> tuple[Effect, int]:
    """Return the effect of a claim, positive if the treatment is better, and the number of
    incomplete pairs (0 if the runs are not paired).

    Raises:
        UserError: a pair has two runs of an arm, the study has noise for runs that are paired, or a
            value of a trend has no logarithm.
    """
    if claim.kind == "stability":
        return failure_rates(arms), 0
    if claim.kind == "exact":
        return _cases(claim, runs, arms)
    # the end of the name of a t test
    ending = ", corrected for skewness" if runs.design.corrects else ""
    weights = np.array([arm.weight * runs.design.sign for arm in arms])
    if claim.kind == "trend":
        return _trend(claim, runs, arms, weights, ending)
    if runs.design.pair and claim.target is None:
        return _paired(runs, arms, weights, ending)
    return _of_means(claim, runs, arms, weights, ending), 0


def failure_rates(arms: Sequence[Arm]) -> Rates:
    """Return the numbers of failed runs and of all runs for two groups of arms.

    The first group has the arms that the effect subtracts (negative weight). The second group has
    the arms that it adds.
    """
    sides = [[arm for arm in arms if (arm.weight > 0) == plus] for plus in (False, True)]
    (first, of_first), (second, of_second) = (
        (sum(arm.without for arm in side), sum(arm.runs for arm in side)) for side in sides
    )
    return Rates(first, of_first, second, of_second)


def _cases(claim: Claim, runs: Runs, arms: Arms) -> tuple[Exact, int]:
    """Return the deviations of the treatment's runs, and the number of incomplete pairs.

    The deviation of a run is its value minus the number that the claim names, or minus the value of
    the baseline's run in the same pair. Incomplete pairs are left out.
    """
    if claim.target is not None:
        pairs, incomplete = np.stack(np.broadcast_arrays(arms[0].scores, claim.target)), 0
    else:
        scores, present = pairs_of(runs, arms)
        whole = present.all(0)
        pairs, incomplete = scores[:, whole], int((~whole).sum())
    deviations, scales = pairs[0] - pairs[1], np.abs(pairs).max(0)
    cases = [
        Case(place, float(deviations[k]), None, float(scales[k]))
        for place, k in enumerate(np.argsort(deviations))
    ]
    return Exact(cases, claim.tolerance, claim.margin), incomplete


def _of_means(
    claim: Claim, runs: Runs, arms: Arms, weights: Numbers, ending: str
) -> MeanDifference:
    """Return the mean difference of independent arms, or of an arm and a number."""
    noise = runs.design.noise
    stated = None if noise.sd is None else Variance(noise.sd**2, noise.df, noise.source)
    if claim.target is not None:
        values = weights[0] * (arms[0].values - claim.target)
        if stated:
            return mean_of(values, STATED, stated)
        scale = max(abs(claim.target), largest(arms[0].values))
        return mean_of(values, TARGET + ending, plus=values, scale=scale)
    values_of = [arm.values for arm in arms]
    if stated:
        return contrast(values_of, weights.tolist(), [stated] * len(arms), STATED)
    method = (WELCH if len(arms) == 2 else CONTRAST) + ending
    variances = [variance_of(values) for values in values_of]
    return contrast(values_of, weights.tolist(), variances, method, skewed=True)


def _paired(runs: Runs, arms: Arms, weights: Numbers, ending: str) -> tuple[MeanDifference, int]:
    """Return the mean difference of pairs, and the number of incomplete pairs."""
    if runs.design.noise != Noise():
        raise UserError(
            f"noise is the variation of single runs, but pair={runs.design.pair} needs the "
            "variation of the differences of pairs: remove noise or pair"
        )
    terms = weights[:, None] * pairs_of(runs, arms)[0]
    sums = np.stack([terms.sum(0), terms[weights > 0].sum(0)], 1)
    return _mean_of_pairs(sums, PAIRED + ending), int((~np.isfinite(sums).all(1)).sum())


def _mean_of_pairs(sums: Slopes, method: str) -> MeanDifference:
    """Return the mean over the complete pairs.

    `sums` has for each pair the weighted sum over its arms, and the positive terms of this sum
    alone.
    """
    differences, plus = in_order(sums[np.isfinite(sums).all(1)]).T
    return mean_of(differences, method, plus=plus)


def _trend(
    claim: Claim, runs: Runs, arms: Arms, weights: Numbers, ending: str
) -> tuple[MeanDifference, int]:
    """Return the slope of a trend claim, positive if the metric gets better, and the number of
    incomplete pairs.

    With `minus`, the effect is the difference of two slopes, and the second arm has a negative
    weight.
    """
    points = [_points(claim, runs, arm) for arm in arms]
    if not runs.design.pair:
        by_arm = [_slope(x, sign * y) for sign, (x, y, _) in zip(weights, points, strict=True)]
        return sum_of(by_arm, SLOPE), 0
    pairs, labels = runs.table.column(runs.design.pair, "pair").labels()
    slopes = np.full((len(arms), len(labels), 2), np.nan)
    present = np.zeros(len(labels), dtype=bool)
    for row, sign, (x, y, places) in zip(slopes, weights, points, strict=True):
        _fill(row, sign, x, y, pairs[places])
        present[pairs[places][pairs[places] >= 0]] = True
    sums = slopes.sum(0)
    incomplete = int((present & ~np.isfinite(sums).all(1)).sum())
    return _mean_of_pairs(sums, SLOPES + ending), incomplete


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
