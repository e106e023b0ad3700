"""Estimate the effects of claims about a table of runs without pairs.

Two arms are compared by Welch's test, an arm and a number by the t test of one sample, and a trend
is the least-squares slope over a numeric column. These are the textbook's tests; the correction for
skewness, which pairs have, must be asked for.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ablate.evidence.types import Reason, Run, TableClaim, reason
from ablate.stats.means import MeanDifference, Values, contrast, largest, mean_of, slope
from ablate.verdict.sides import INDEPENDENT, ContrastError, Side

LEAST_LEVELS = 2  # smallest number of values of the column of a trend


def is_independent(claim: Mapping[str, object]) -> bool:
    """Return whether a claim is about runs that are not paired."""
    return claim.get("design") in INDEPENDENT


def effect_of(claim: TableClaim, arms: Sequence[Side]) -> MeanDifference:
    """Return the effect of a claim about runs that are not paired, positive if the treatment is
    better; NaN if an arm has no run with a value.

    Raises:
        ContrastError: a value of a trend has no logarithm.
    """
    if claim["kind"] == "trend":
        return _slope(claim, *arms)
    corrected = claim["test"] == "corrected"
    effect = _effect(claim, arms, "corrected " * corrected)
    return effect if corrected else replace(effect, skewness=None)


def problem_of(effect: MeanDifference, arms: Sequence[Side], claim: TableClaim) -> Reason | None:
    """Return the reason why an effect decides no claim; None if it can."""
    counts = [len(values_of(arm, claim["metric"])) for arm in arms]
    if not all(counts):
        return reason("no_value")
    if math.isnan(effect.effect):
        return reason("too_few_levels", over=claim["over"])
    return None if effect.parts else reason("no_variation")


def values_of(arm: Side, metric: str) -> Values:
    """Return the results of the runs of an arm that have one, sorted, because a floating-point sum
    depends on the order.
    """
    return np.sort(np.array([_value(run, metric) for run in _ended(arm)], dtype=np.float64))


def _ended(arm: Side) -> list[Run]:
    return [run for run in arm.every if run["status"] == "finished"]


def _value(run: Run, metric: str) -> float:
    value = run["metrics"][metric]
    assert value is not None
    return float(value)


def _effect(claim: TableClaim, arms: Sequence[Side], which: str) -> MeanDifference:
    """Return the mean difference of independent arms, or of an arm and a number."""
    values = [values_of(arm, claim["metric"]) for arm in arms]
    if claim["target"] is not None:
        differences = arms[0].weight * (values[0] - claim["target"])
        scale = max(abs(claim["target"]), largest(values[0]))
        return mean_of(differences, f"{which}one sample", scale)
    weights = [arm.weight for arm in arms]
    method = which + ("Welch" if len(arms) == 2 else "contrast")
    return contrast(values, weights, method)


def _slope(claim: TableClaim, arm: Side) -> MeanDifference:
    """Return the slope of the metric over the column of a trend, times the weight of the arm."""
    points = [(run["levels"][claim["over"]], _value(run, claim["metric"])) for run in _ended(arm)]
    points = [(level, y) for level, y in points if level is not None]
    x, y = np.array(sorted(points), dtype=np.float64).reshape(-1, 2).T
    for values, on in ((x, ("log", "log_log")), (y, ("log_log",))):
        if claim["scale"] in on and len(values) and values.min() <= 0:
            over, level = claim["over"] if values is x else claim["measures"], float(values.min())
            why = reason("no_logarithm", over=over, level=level)
            raise ContrastError(f"{over}={level:g} has no logarithm: use scale=linear", why)
    if len(np.unique(x)) < LEAST_LEVELS:
        return MeanDifference(math.nan, (), "least squares", (len(x),))
    if claim["scale"] == "log":
        return slope(np.log2(x), arm.weight * y, "least squares")
    if claim["scale"] == "log_log":
        return slope(np.log(x), arm.weight * np.log(y), "least squares")
    return slope(x, arm.weight * y, "least squares")
