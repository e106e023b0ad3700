"""Decide every claim about a table of runs, by the rules, margins and corrections that sweeps
use.
"""

import math
from dataclasses import dataclass

from ablate.evidence.foreign.table import Table
from ablate.referee.measure import Measured, as_target, expanded, measure
from ablate.referee.question import Question
from ablate.referee.runs import Runs, runs_of
from ablate.stats.holm import Tests, adjust
from ablate.stats.means import MeanDifference
from ablate.verdict.decision import DIRECTION, INCONCLUSIVE, Decision, MarginThreshold, side
from ablate.verdict.kind import KINDS
from ablate.verdict.kind.base import Plan


@dataclass(frozen=True)
class Judged:
    """A claim about a table of runs, with the decision on it.

    Args:
        measured: the effect and its p-values.
        decision: the decision with Holm's correction.
        alone: the decision without the correction.
        p_adjusted: p-values after Holm's correction over all claims, on the scale of alpha.
        turns: margins at which the decision would change, without the correction.
        detectable: smallest effect (or margin) that these runs can detect with power 0.8.
        plans: for each decision, the number of runs per arm that would reach it with power 0.8.
    """

    measured: Measured
    decision: Decision
    alone: Decision
    p_adjusted: Tests
    turns: tuple[MarginThreshold, ...]
    detectable: float | None
    plans: dict[str, Plan]


def judge_runs(question: Question, table: Table) -> tuple[Runs, list[Judged]]:
    """Return the runs in a table, with one result each, and the decision on each claim about them.

    Args:
        question: how to read the table, such as which column names the arm, and the claims.
        table: the table of runs.

    Raises:
        UserError: the table lacks a column that the question names.
    """
    runs = runs_of(table, question.design)
    claims = [as_target(claim, runs) for claim in question.claims]
    measured = [
        result
        for claim in claims
        for each in expanded(claim, runs)
        for result in measure(each, runs)
    ]
    return runs, decide(measured)


def decide(measured: list[Measured]) -> list[Judged]:
    """Return the decision on every claim, given its measured effect.

    With Holm's correction, the probability of a false decision on any of the claims is at most
    alpha.
    """
    scaled = [KINDS[result.claim.kind].scaled(result.p) for result in measured]
    adjusted = adjust(scaled, [result.claim.alpha for result in measured])
    decisions = [_decision(result, p) for result, p in zip(measured, adjusted, strict=True)]
    open_ = sum(decision.status == INCONCLUSIVE for decision in decisions)
    return [
        _judged(result, decision, p, alone, open_)
        for result, decision, p, alone in zip(measured, decisions, adjusted, scaled, strict=True)
    ]


def _decision(measured: Measured, p: Tests) -> Decision:
    if measured.failures:
        return Decision(side(p, measured.claim.alpha))
    return KINDS[measured.claim.kind].decide(p, measured.claim.alpha)


def _judged(
    measured: Measured, decision: Decision, adjusted: Tests, alone: Tests, undecided: int
) -> Judged:
    claim, effect = measured.claim, measured.effect
    kind, decided_by_mean = KINDS[claim.kind], not measured.problem and not measured.failures
    rule: dict[str, object] = claim.rule()
    open_ = decision.status == INCONCLUSIVE
    shared = claim.alpha / (undecided if open_ else 1)
    detectable, plans = None, {}
    if decided_by_mean and isinstance(effect, MeanDifference) and effect.error > 0:
        if effect.degrees(effect.pairs) >= 1:
            detectable = kind.detectable(rule, effect, claim.alpha)  # type: ignore[arg-type]
        if open_ or decision.grade == DIRECTION:
            plans = kind.seeds_needed(rule, effect, shared)  # type: ignore[arg-type]
    turns = (
        kind.turns(effect, claim.alpha) if decided_by_mean and not math.isnan(effect.effect) else []
    )
    alone_decision = _decision(measured, alone)
    return Judged(measured, decision, alone_decision, adjusted, tuple(turns), detectable, plans)
