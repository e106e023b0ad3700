"""Run a campaign: compare candidates, one after the other, with a baseline.

A candidate that is kept becomes the new baseline.

Each candidate has a part of the campaign's error budget (ablate.stats.online). The interim analyses
of a candidate share this part as in a sweep (ablate.stats.spending). A candidate is kept if the
repeated p-value of the hypothesis "the candidate is better by at most the margin" reaches its
significance level. A candidate is discarded if it has used all of its runs without being kept, or
if it is unlikely to be kept. The variance of a candidate's runs is pooled with that of the
baseline, because four runs alone estimate a standard deviation badly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ablate.stats.means import MeanDifference, contrast, pooled
from ablate.stats.online import level
from ablate.stats.spending import nominal, repeated
from ablate.verdict.stages import conditional_power

KEEP, DISCARD, MORE = "keep", "discard", "more"
FUTILE = 0.1  # chance of being kept, given the trend so far, below which a candidate is discarded
METHOD = "pooled t, repeated (O'Brien-Fleming), online alpha spending"
Values = Float[np.ndarray, " _"]  # the results of an arm; arms may differ in their numbers of runs


@dataclass(frozen=True)
class Rules:
    """The rules of a campaign, fixed before its first candidate.

    Args:
        better: lower | higher.
        alpha: probability that any candidate is wrongly kept.
        candidates: planned number of candidates; more candidates are allowed, at smaller
            significance levels.
        first: runs of a candidate at its first interim analysis.
        step: runs between two interim analyses.
        most: largest number of runs of a candidate.
        baseline_runs: runs of a baseline; a candidate that was kept needs this number of new runs.
        margin: amount by which a candidate must be better.
    """

    better: str
    alpha: float = 0.05
    candidates: int = 100
    first: int = 4
    step: int = 2
    most: int = 10
    baseline_runs: int = 32
    margin: float = 0.0


@dataclass(frozen=True)
class InterimAnalysis:
    """The result of an interim analysis of a candidate.

    Args:
        decision: keep | discard | more (runs).
        effect: candidate minus baseline, positive if the candidate is better.
        interval: confidence interval at the level of this candidate and analysis.
        p: repeated p-value, to be compared with `level`.
        level: significance level of this candidate, its part of the error budget.
        wanted: further runs of the candidate before the next interim analysis.
    """

    decision: str
    effect: float
    interval: tuple[float, float]
    p: float
    level: float
    wanted: int


def analyse(
    rules: Rules, number: int, baseline: Values, candidate: Values, looks: Sequence[int]
) -> InterimAnalysis:
    """Return the result of an interim analysis of a candidate.

    Args:
        rules: the rules of the campaign.
        number: number of the candidate in the campaign, from 1.
        baseline: results of the baseline's runs.
        candidate: results of the candidate's runs.
        looks: number of the candidate's runs at each interim analysis, including this one.
    """
    share = level(number, rules.candidates, rules.alpha)
    fractions = tuple(count / rules.most for count in looks)
    mean_difference = difference(rules, baseline, candidate)
    alone = mean_difference.p_at_most(rules.margin)
    p = repeated(alone, fractions)
    interval = mean_difference.interval(1 - 2 * nominal(share, fractions))
    done = len(candidate) >= rules.most
    decision = KEEP if p <= share else DISCARD if done else MORE
    if decision == MORE and conditional_power(alone, fractions[-1], share) < FUTILE:
        decision = DISCARD
    wanted = min(rules.step, rules.most - len(candidate)) if decision == MORE else 0
    return InterimAnalysis(decision, mean_difference.effect, interval, p, share, wanted)


def difference(rules: Rules, baseline: Values, candidate: Values) -> MeanDifference:
    """Return the mean difference of candidate and baseline, positive if the candidate is better."""
    sign = 1.0 if rules.better == "higher" else -1.0
    arms = [candidate, baseline]
    return contrast(arms, [sign, -sign], [pooled(arms)] * 2, METHOD)
