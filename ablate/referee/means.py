"""Estimate the mean difference of a claim: from pairs, from unpaired arms, or against a number."""

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign.table import Numbers
from ablate.referee.arms import Arm, in_order, pairs_of
from ablate.referee.question import FEW, Claim, Design, Noise
from ablate.referee.runs import Runs
from ablate.stats.means import (
    MeanDifference,
    Variance,
    contrast,
    largest,
    mean_of,
    pooled,
    variance_of,
)

PAIRED, WELCH, TARGET, CONTRAST = "paired t", "Welch's t", "one-sample t", "t of a contrast"
LENT, STATED = "t, noise not its own", "z or t, stated noise"


def corrected(design: Design) -> str:
    """Return the end of the name of a t test: ", corrected for skewness" or "".

    The design decides whether the test has this correction.
    """
    return ", corrected for skewness" if design.corrects else ""


def difference(claim: Claim, runs: Runs, arms: tuple[Arm, ...]) -> tuple[MeanDifference, int]:
    """Return the mean difference, positive if the treatment is better, and the number of incomplete
    pairs (0 if the runs are not paired).

    Raises:
        UserError: a pair has two runs of an arm, or the study has noise for runs that are paired.
    """
    ending, weights = corrected(runs.design), [arm.weight * runs.design.sign for arm in arms]
    if runs.design.pair and claim.target is None:
        if runs.design.noise != Noise():
            raise UserError(
                f"noise is the variation of single runs, but pair={runs.design.pair} needs the "
                "variation of the differences of pairs: remove noise or pair"
            )
        return _paired(runs, arms, np.array(weights), ending)
    variances = [_variance(arm, runs) for arm in arms]
    lent = any(variance and variance.source for variance in variances)
    if claim.target is not None:
        values = weights[0] * (arms[0].values - claim.target)
        if lent:
            return mean_of(values, STATED, variances[0]), 0
        scale = max(abs(claim.target), largest(arms[0].values))
        return mean_of(values, TARGET + ending, plus=values, scale=scale), 0
    method = LENT if lent else (WELCH if len(arms) == 2 else CONTRAST) + ending
    return contrast([arm.values for arm in arms], weights, variances, method, skewed=not lent), 0


def _paired(
    runs: Runs, arms: tuple[Arm, ...], weights: Numbers, ending: str
) -> tuple[MeanDifference, int]:
    terms = weights[:, None] * pairs_of(runs, arms).scores
    sums = np.stack([terms.sum(0), terms[weights > 0].sum(0)], 1)
    whole = np.isfinite(sums).all(1)
    differences, plus = in_order(sums[whole]).T
    effect = mean_of(differences, PAIRED + ending, plus=plus)
    return effect, int((~whole).sum())


def _variance(arm: Arm, runs: Runs) -> Variance | None:
    """Return the variance of an arm's runs: stated by the user, measured, or pooled from other arms
    if the arm has few runs.
    """
    noise = runs.design.noise
    if noise.sd is not None:
        return Variance(noise.sd**2, noise.df, noise.source)
    if not noise.arms or len(arm.values) > FEW:
        return variance_of(arm.values)
    return pooled(noise_arm_values(arm, runs))


def noise_arm_values(few: Arm, runs: Runs) -> list[Numbers]:
    """Return the finite results of each arm in `noise.arms`, for the dataset and the settings of an
    arm.

    The pooled variance of these results replaces the variance of the arm `few`.
    """
    arms = [runs.of_arm(arm, "noise.arms") & few.comparable for arm in runs.design.noise.arms]
    return [runs.values[rows & np.isfinite(runs.values)] for rows in arms]
