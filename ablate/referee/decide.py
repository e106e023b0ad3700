"""Measure the effect of every claim about a table of runs, and decide the claim by the rules,
margins and corrections that sweeps use.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign.table import Rows, Table, labels_meant, twins
from ablate.referee.effects import Effect, effect_of, failure_rates
from ablate.referee.question import LEAVE_OUT, Claim, Question
from ablate.referee.runs import Arm, Runs, arms_of, runs_of
from ablate.stats.holm import Tests, adjust
from ablate.stats.means import MeanDifference
from ablate.stats.rates import Rates
from ablate.verdict.decision import DIRECTION, INCONCLUSIVE, Decision, MarginThreshold, side
from ablate.verdict.exact import Exact
from ablate.verdict.kind import KINDS
from ablate.verdict.kind.base import Plan, halved

OF_MEANS = ("superiority", "equivalence", "non_inferiority")  # kinds that failure rates may decide
MOST_NAMED = 12  # largest number of arms in a message


@dataclass(frozen=True)
class Measured:
    """The measured effect of a claim on some runs, before the decision.

    Args:
        claim: the claim.
        group: the dataset; "" if there is only one.
        arms: the arms of the claim.
        effect: the estimate, positive if the treatment is better.
        p: one-sided p-value of each decision, not adjusted for other claims.
        problem: the reason why the claim cannot be judged; "" if it can.
        incomplete: number of pairs that lack an arm or a value.
        failures: rates of failed runs, if they decide the claim.
        shared: whether the test of the mean has only half of alpha, because the failure rates
            could have decided too.
        p_textbook: p-values without a correction for skewness, for claims about means.
        p_corrected: p-values with a correction for skewness, for claims about means.
    """

    claim: Claim
    group: str
    arms: tuple[Arm, ...]
    effect: Effect
    p: dict[str, float]
    problem: str = ""
    incomplete: int = 0
    failures: Rates | None = None
    shared: bool = False
    p_textbook: dict[str, float] = field(default_factory=dict)
    p_corrected: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Judged(Measured):
    """A measured claim about a table of runs, with the decision on it.

    Args:
        decision: the decision with Holm's correction.
        alone: the decision without the correction.
        p_adjusted: p-values after Holm's correction over all claims, on the scale of alpha.
        turns: margins at which the decision would change, without the correction.
        detectable: smallest effect (or margin) that these runs can detect with power 0.8.
        plans: for each decision, the number of runs per arm that would reach it with power 0.8.
    """

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
    columns = {name: table.columns[name] for name in question.names if name in table.columns}
    notes = (note for name, column in columns.items() for note in twins(name, column.labels()[1]))
    runs = runs_of(replace(table, notes=(*table.notes, *notes)), question.design)
    claims = [as_target(claim, runs) for claim in question.claims]
    measured = [
        result
        for claim in claims
        for each in expanded(claim, runs)
        for result in measure(each, runs)
    ]
    return runs, _decide(measured)


def _decide(measured: list[Measured]) -> list[Judged]:
    """Return the decision on every claim, given its measured effect.

    With Holm's correction, the probability of a false decision on any of the claims is at most
    alpha.
    """
    scaled = [KINDS[result.claim.kind].scaled(result.p) for result in measured]
    adjusted = adjust(scaled, [result.claim.alpha for result in measured])
    decisions = [_decision(result, p) for result, p in zip(measured, adjusted, strict=True)]
    tested = zip(decisions, scaled, strict=True)
    open_ = sum(bool(p) and decision.status == INCONCLUSIVE for decision, p in tested)
    return [
        _judged(result, decision, p, alone, open_)
        for result, decision, p, alone in zip(measured, decisions, adjusted, scaled, strict=True)
    ]


def _decision(measured: Measured, p: Tests) -> Decision:
    if isinstance(measured.effect, Exact):
        return Decision(measured.effect.verdict)
    if measured.failures:
        return Decision(side(p, measured.claim.alpha))
    return KINDS[measured.claim.kind].decide(p, measured.claim.alpha)


def _judged(
    measured: Measured, decision: Decision, adjusted: Tests, alone: Tests, undecided: int
) -> Judged:
    claim, effect = measured.claim, measured.effect
    kind, decided_by_mean = KINDS[claim.kind], not measured.problem and not measured.failures
    open_ = decision.status == INCONCLUSIVE
    shared = claim.alpha / (undecided if open_ and measured.p else 1)
    detectable, plans = None, {}
    if decided_by_mean and isinstance(effect, MeanDifference) and effect.error > 0:
        if effect.degrees(effect.pairs) >= 1:
            detectable = kind.detectable(claim.rule(), effect, claim.alpha)
        if open_ or decision.grade == DIRECTION:
            plans = kind.seeds_needed(claim.rule(), effect, shared)
    turns = (
        kind.turns(effect, claim.alpha) if decided_by_mean and not math.isnan(effect.effect) else []
    )
    return Judged(
        **vars(measured),
        decision=decision,
        alone=_decision(measured, alone),
        p_adjusted=adjusted,
        turns=tuple(turns),
        detectable=detectable,
        plans=plans,
    )


def expanded(claim: Claim, runs: Runs) -> Iterator[Claim]:
    """Yield the claim; if it names no treatment, yield a copy for each arm without runs of the
    baseline.

    A trend needs no treatment.

    Raises:
        UserError: no run belongs to the baseline, or there is no other arm.
    """
    if claim.treatment is not None or claim.kind == "trend":
        yield claim
        return
    arms = runs.arms
    if claim.target is None:
        baseline = runs.of_arm(claim.baseline, "baseline")
        arms = [arm for arm in arms if not (runs.of_arm(arm, "treatment") & baseline).any()]
    if not arms:
        raise UserError(f"baseline={claim.baseline}: there is no other arm to compare with it")
    for arm in arms:
        yield replace(claim, treatment=arm, id=arm if len(arms) > 1 else claim.id)


def as_target(claim: Claim, runs: Runs) -> Claim:
    """Return the claim, with its baseline as the target if the baseline is a number.

    A number that is also the label of an arm stays the baseline, and so does the baseline of a
    claim on stability, which compares the failures of two arms.
    """
    arm = isinstance(claim.baseline, bool | Mapping) or claim.kind == "stability"
    if arm or not _is_number(claim.baseline):
        return claim
    if labels_meant(claim.baseline, runs.arms):
        return claim
    if all(map(_is_number, runs.arms)):
        raise UserError(
            f"baseline={claim.baseline}: no arm has this value (arms: "
            f"{', '.join(runs.arms[:MOST_NAMED])}); name one of them, or give target="
            f"{claim.baseline} to compare with this number"
        )
    return replace(claim, baseline=None, target=float(claim.baseline))


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def measure(claim: Claim, runs: Runs) -> list[Measured]:
    """Return the effect of a claim on each dataset in the table.

    Raises:
        UserError: an arm has no runs, or two runs of an arm share a pair.
    """
    if not runs.design.group:
        return [_measure(claim, runs, np.ones(runs.table.rows, dtype=bool), "")]
    places, labels = runs.table.column(runs.design.group, "group").labels()
    return [_measure(claim, runs, places == k, label) for k, label in enumerate(labels)]


def _measure(claim: Claim, runs: Runs, rows: Rows, group: str) -> Measured:
    arms = tuple(arms_of(claim, runs, rows))
    effect, incomplete = effect_of(claim, runs, arms)
    kind, textbook, corrected = KINDS[claim.kind], Tests(), Tests()
    if isinstance(effect, MeanDifference) and effect.skewness is not None:
        plain = replace(effect, skewness=None)
        textbook, corrected = (kind.tests(each, claim.margin) for each in (plain, effect))
        effect = effect if runs.design.corrects else plain
    p, problem = kind.tests(effect, claim.margin), _problem(claim, arms, effect)
    measured = Measured(
        *(claim, group, arms, effect, p, problem),
        incomplete=incomplete,
        p_textbook=textbook,
        p_corrected=corrected,
    )
    return _with_failures(measured, runs)


def _problem(claim: Claim, arms: tuple[Arm, ...], effect: Effect) -> str:
    """Return the reason why a claim cannot be judged; "" if it can."""
    if isinstance(effect, Rates):
        return "" if effect.known else "an arm has no runs here"
    if math.isnan(effect.effect):
        return _absence(claim, arms)
    if isinstance(effect, MeanDifference) and not effect.parts:
        single = any(len(arm.values) == 1 for arm in arms)
        if not single and 1 in effect.counts:
            return "a single pair shows no variation between pairs"
        return "a single run shows no run-to-run variation" if single else "too few runs"
    return ""


def _absence(claim: Claim, arms: tuple[Arm, ...]) -> str:
    """Return the reason why there is no estimate."""
    if not all(len(arm.values) for arm in arms):
        return "an arm has no run with a value here"
    if claim.kind == "trend":
        return "a trend needs runs at two values of its column, in each pair if runs are paired"
    return "no pair has a value in every arm"


def _with_failures(measured: Measured, runs: Runs) -> Measured:
    """Return the measured effect with the p-values that decide the claim.

    A claim about means can also be decided by the proportions of failed runs in its arms. If the
    test of these proportions is significant, the result has its p-values. Otherwise the result has
    the p-values of the test of means. They are multiplied by 2 if the test of proportions could
    have decided, because the two tests then share alpha.
    """
    claim = measured.claim
    kind, alpha, rates = KINDS[claim.kind], claim.alpha, failure_rates(measured.arms)
    failed = rates.known and rates.first + rates.second
    counted = claim.kind in OF_MEANS and runs.design.missing != LEAVE_OUT
    if not (counted and failed and kind.could_decide(rates, alpha)):
        return measured
    if tests := kind.by_failures(rates, alpha):
        return replace(measured, p=tests, failures=rates, problem="")
    return replace(measured, p=halved(measured.p), shared=True)
