"""The decision on every claim of a question: the rules, margins and corrections of ablate's own."""

import math
from dataclasses import dataclass

from ablate.evidence.foreign.table import Table
from ablate.referee.measure import Measured, as_target, expanded, measure
from ablate.referee.question import Question
from ablate.referee.runs import Runs, runs_of
from ablate.stats.holm import Tests, adjust
from ablate.stats.means import MeanDifference
from ablate.verdict.decision import DIRECTION, INCONCLUSIVE, Decision, Turn, side
from ablate.verdict.kind import KINDS
from ablate.verdict.kind.base import Plan


@dataclass(frozen=True)
class Judged:
    """A claim with its decision.

    Args:
        p_adjusted: p-values on the scale of alpha after Holm's correction over all claims.
        alone: what the decision would be without the correction.
        turns: what the decision would be from each margin on, without the correction.
        detectable: smallest effect (or margin) that these runs show with power .8.
        plans: runs of each arm that decide with power .8.
    """

    measured: Measured
    decision: Decision
    alone: Decision
    p_adjusted: Tests
    turns: tuple[Turn, ...]
    detectable: float | None
    plans: dict[str, Plan]


def judge_runs(question: Question, table: Table) -> tuple[Runs, list[Judged]]:
    """Return the runs that count, and the decision on every claim about them.

    Raises:
        UserError: the table lacks what the question names.
    """
    runs = runs_of(table, question.design)
    claims = [as_target(claim, runs) for claim in question.claims]
    measured = [
        one for claim in claims for each in expanded(claim, runs) for one in measure(each, runs)
    ]
    return runs, decide(measured)


def decide(measured: list[Measured]) -> list[Judged]:
    """Apply the rule of each claim, with one error budget over all of them (Holm)."""
    scaled = [KINDS[one.claim.kind].scaled(one.p) for one in measured]
    adjusted = adjust(scaled, [one.claim.alpha for one in measured])
    decisions = [_decision(one, p) for one, p in zip(measured, adjusted, strict=True)]
    open_ = sum(decision.status == INCONCLUSIVE for decision in decisions)
    return [
        _judged(one, decision, p, alone, open_)
        for one, decision, p, alone in zip(measured, decisions, adjusted, scaled, strict=True)
    ]


def _decision(measured: Measured, p: Tests) -> Decision:
    if measured.failures:
        return Decision(side(p, measured.claim.alpha))
    return KINDS[measured.claim.kind].decide(p, measured.claim.alpha)


def _judged(
    measured: Measured, decision: Decision, adjusted: Tests, alone: Tests, undecided: int
) -> Judged:
    claim, effect = measured.claim, measured.effect
    kind, known = KINDS[claim.kind], not measured.problem and not measured.failures
    rule: dict[str, object] = claim.rule()
    open_ = decision.status == INCONCLUSIVE
    planned = known and isinstance(effect, MeanDifference) and effect.error > 0
    shared = claim.alpha / (undecided if open_ else 1)
    detectable = _detectable(measured) if planned else None
    plans = {}
    if planned and (open_ or decision.grade == DIRECTION):
        plans = kind.seeds_needed(rule, effect, shared)  # type: ignore[arg-type]
    turns = kind.turns(effect, claim.alpha) if known and not math.isnan(effect.effect) else []
    alone_decision = _decision(measured, alone)
    return Judged(measured, decision, alone_decision, adjusted, tuple(turns), detectable, plans)


def _detectable(measured: Measured) -> float | None:
    rule: dict[str, object] = measured.claim.rule()
    kind = KINDS[measured.claim.kind]
    if (
        isinstance(measured.effect, MeanDifference)
        and measured.effect.degrees(measured.effect.pairs) < 1
    ):
        return None
    return kind.detectable(rule, measured.effect, measured.claim.alpha)  # type: ignore[arg-type]
