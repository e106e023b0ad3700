"""Candidates one after the other against a baseline that moves when a candidate is kept.

Each candidate has a level of its own (ablate.stats.online), which its looks share as those of a
sweep do (ablate.stats.spending). A candidate is kept when the repeated p-value of "it is better by
no more than the margin" reaches the level. It is discarded when all of its runs are used up, or
when it could hardly be kept any more. Its noise is taken to be that of the baseline: both are
pooled, since four runs alone know their spread badly.
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
Values = Float[np.ndarray, " _"]  # arms have unequal numbers of runs


@dataclass(frozen=True)
class Rules:
    """What a campaign has decided before its first candidate.

    Args:
        better: lower | higher.
        alpha: chance that any candidate is wrongly kept.
        candidates: how many are planned; more are allowed, at smaller levels.
        first: runs of a candidate at its first look.
        step: runs between two looks.
        most: runs of a candidate at most.
        baseline_runs: runs of a baseline, fresh ones of a candidate that was kept.
        margin: by which a candidate must be better.
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
class Look:
    """What a look at a candidate has decided.

    Args:
        decision: keep | discard | more.
        effect: positive where the candidate is better.
        interval: at the level of this candidate and look.
        p: repeated p-value, to be compared with `level`.
        level: the part of the error budget that this candidate has.
        wanted: further runs of the candidate until the next look.
    """

    decision: str
    effect: float
    interval: tuple[float, float]
    p: float
    level: float
    wanted: int


def look(
    rules: Rules, number: int, baseline: Values, candidate: Values, looks: Sequence[int]
) -> Look:
    """Judge the runs of the candidate with this number; `looks` are their counts at all looks."""
    share = level(number, rules.candidates, rules.alpha)
    fractions = tuple(count / rules.most for count in looks)
    found = difference(rules, baseline, candidate)
    alone = found.p_at_most(rules.margin)
    p = repeated(alone, fractions)
    interval = found.interval(1 - 2 * nominal(share, fractions))
    done = len(candidate) >= rules.most
    decision = KEEP if p <= share else DISCARD if done else MORE
    if decision == MORE and conditional_power(alone, fractions[-1], share) < FUTILE:
        decision = DISCARD
    wanted = min(rules.step, rules.most - len(candidate)) if decision == MORE else 0
    return Look(decision, found.effect, interval, p, share, wanted)


def difference(rules: Rules, baseline: Values, candidate: Values) -> MeanDifference:
    """Return candidate minus baseline, positive where the candidate is better."""
    sign = 1.0 if rules.better == "higher" else -1.0
    arms = [candidate, baseline]
    return contrast(arms, [sign, -sign], [pooled(arms)] * 2, METHOD)
