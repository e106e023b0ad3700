"""Judge a claim: return its estimate and its verdict in the form of verdict.json."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ablate.evidence.folder import Evidence
from ablate.evidence.types import (
    Band,
    Cases,
    Claim,
    ClaimResult,
    ControlOutcome,
    Entry,
    Question,
    Registration,
    Run,
)
from ablate.stats.estimate import SENTENCES, Estimate
from ablate.stats.holm import Tests
from ablate.stats.rates import Rates
from ablate.stats.signs import sign_flip
from ablate.stats.spending import ONCE, nominal
from ablate.verdict.control import control
from ablate.verdict.decide import decision as decide
from ablate.verdict.decision import DIRECTION, INCONCLUSIVE, SUPPORTED, MarginThreshold
from ablate.verdict.exact import Exact
from ablate.verdict.kind import kind_of
from ablate.verdict.kind.base import Finding
from ablate.verdict.seen_noise import seen_noise
from ablate.verdict.sides import names
from ablate.verdict.trained import TrainedValue

ASKED = tuple(Question.__annotations__)  # fields of a claim, in the order of verdict.json
KEPT = tuple(
    key for key in ASKED if key in Question.__required_keys__
)  # always written; the others only if set


def judged(
    finding: Finding,
    p_adjusted: Tests,
    undecided: int,
    registration: Registration,
    evidence: Evidence,
    *,
    primary: bool,
) -> Entry:
    """Return a claim with its result, in the form of verdict.json.

    Args:
        finding: the statistical result of the claim.
        p_adjusted: p-values after Holm's correction.
        undecided: number of undecided claims, which share alpha by Holm's correction.
        registration: the registration of the study.
        evidence: the evidence of the study.
        primary: whether the claim is the first of its study.
    """
    claim = finding.claim
    older, exploratory = age(finding.runs, registration)
    entry: Any = {key: value for key, value in _in_order(claim) if key in KEPT or value}
    if isinstance(finding.result, Exact):
        entry |= _exact(claim, finding.result)
    else:
        entry |= _effect(finding, p_adjusted, undecided, control(claim, evidence))
    result: Entry = entry | {
        "arms": names(claim),
        "failed_runs": sum(run["status"] == "failed" for run in finding.runs),
        "exploratory": exploratory,
        "older_cells": older,
        "primary": primary,
    }
    return result


def _in_order(claim: Claim) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each field of a claim, in the order of verdict.json.

    The value of a missing field is None.
    """
    fields: Mapping[str, object] = claim
    return ((key, fields.get(key)) for key in ASKED)


def age(runs: list[Run], registration: Registration) -> tuple[int, bool]:
    """Return how many runs ended before the registration of the study, and whether their claim is
    exploratory for this reason.

    A claim is exploratory if all its runs ended before the registration. It is also exploratory if
    some of its runs did and the study was changed since.
    """
    ended = [run for run in runs if run["status"] != "failed"]
    older = sum(run["ended"] < registration["time"] for run in ended)
    return older, older > 0 and (older == len(ended) or bool(registration["earlier"]))


def _exact(claim: Claim, exact: Exact) -> ClaimResult:
    return {
        "verdict": exact.verdict,
        "grade": "",
        "effect": exact.worst,
        "interval": None,
        "p": {},
        "p_adjusted": {},
        "p_look": {},
        "seeds": exact.seeds,
        "pairs": len(exact.counted),
        "differences": exact.values,
        "method": "every case is checked",
        "levels_of_noise": "none: a case holds or does not",
        "detectable": None,
        "seeds_needed": None,
        "sensitivity": _bands(kind_of(claim).turns(exact, claim["alpha"])),
        "cases": _cases(exact),
    }


def _cases(exact: Exact) -> Cases:
    cases: Cases = {
        "of": len(exact.cases),
        "counted": len(exact.counted),
        "broken": exact.broken,
        "draws": exact.draws,
        "control": exact.control,
    }
    return cases if exact.elsewhere is None else {**cases, "elsewhere": exact.elsewhere}


def _effect(
    finding: Finding, p_adjusted: Tests, undecided: int, outcome: ControlOutcome | None
) -> ClaimResult:
    claim, estimate, paired = finding.claim, finding.result, finding.paired
    assert not isinstance(estimate, Exact)
    kind = kind_of(claim)
    decision = decide(finding, p_adjusted)
    open_ = decision.status == INCONCLUSIVE
    shared = claim["alpha"] / (undecided if open_ else 1)
    decidable = not finding.problem and finding.rates is None
    share = 2 * nominal(shared / 2, estimate.looks)  # part of alpha for this interim analysis
    least = kind.detectable(claim, estimate, share) if decidable else None
    more = decidable and (open_ or decision.grade == DIRECTION)
    plans = kind.seeds_needed(claim, estimate, shared) if more else {}
    turns = kind.turns(estimate, claim["alpha"]) if decidable else []
    scaled = kind.scaled(finding.p)
    uncorrected = decide(finding, scaled)
    entry: ClaimResult = {
        "verdict": decision.status,
        "grade": decision.grade,
        "effect": None if math.isnan(estimate.effect) else estimate.effect,
        "interval": _bounded(estimate.interval(1 - claim["alpha"])),
        "p": finding.p,
        "p_adjusted": p_adjusted,
        "p_look": scaled,
        "seeds": paired.seeds if paired else [],
        "pairs": estimate.pairs,
        "differences": paired.differences.tolist() if paired else [],
        "method": estimate.method,
        "levels_of_noise": estimate.levels_of_noise,
        "sign_flip": sign_flip(paired.differences) if paired and len(paired.seeds) else None,
        "detectable": least,
        "seeds_needed": {side: plan.entry() for side, plan in plans.items()} or None,
        "sensitivity": _bands(turns),
    }
    if uncorrected != decision and not finding.problem:
        entry["uncorrected"] = str(uncorrected)
    besides: Any = _counts(finding) | _of_kind(finding, outcome)
    return {**entry, **besides}


def _counts(finding: Finding) -> dict[str, Any]:
    """Return the numbers of sentences, runs and cases of a claim, as fields of verdict.json.

    Only the fields that apply to the claim are returned.

    Returns:
        sentences: number of test sentences.
        rates: failed runs and all runs of both arms, if the claim is about failed runs.
        failed_to_learn: number of runs that failed to learn, by arm.
        decided_by_failures: True if the failure rates decide the claim.
        cases: numbers of cases of an exact claim about trained models.
        seeds, differences: seeds and values of these cases.
    """
    estimate, cases = finding.result, finding.cases
    entry: dict[str, Any] = {}
    if isinstance(estimate, Estimate) and estimate.sentences and estimate.units == SENTENCES:
        entry["sentences"] = estimate.sentences
    if isinstance(estimate, Rates):
        entry["rates"] = [
            (estimate.first, estimate.of_first),
            (estimate.second, estimate.of_second),
        ]
    if finding.failures:
        entry["failed_to_learn"] = finding.failures
    if finding.rates is not None:
        entry["decided_by_failures"] = True
    if cases is not None:
        holding = {"holding": estimate.holding} if isinstance(estimate, TrainedValue) else {}
        entry |= {"seeds": cases.seeds, "differences": cases.values}
        entry["cases"] = {**_cases(cases), **holding}
    return entry


def _of_kind(finding: Finding, outcome: ControlOutcome | None) -> dict[str, Any]:
    """Return the fields of verdict.json that only some kinds of claims have.

    Args:
        finding: the statistical result of the claim.
        outcome: the positive control of the claim, if any.
    """
    estimate, kind, claim = finding.result, kind_of(finding.claim), finding.claim
    assert not isinstance(estimate, Exact)
    entry: dict[str, Any] = {}
    if finding.problem:
        entry["problem"] = finding.problem
    if (noise := seen_noise(finding)) is not None:
        entry["false_rate"] = noise.rate
    if estimate.looks != ONCE:
        entry["information"] = list(estimate.looks)
    if SUPPORTED in kind.whole:
        entry["interval_equivalence"] = _bounded(estimate.interval(1 - 2 * claim["alpha"]))
    if kind.controlled:
        entry["control"] = outcome
    return entry


def _bands(turns: list[MarginThreshold]) -> list[Band]:
    """Return the verdicts that a claim would have with other margins, as in verdict.json.

    For an exact claim with a tolerance, the tolerance differs instead. `turns` has the thresholds
    at which the decision changes.
    """
    return [
        {
            "from": turn.margin,
            "verdict": turn.decision.status,
            "grade": turn.decision.grade,
        }
        for turn in turns
        if math.isfinite(turn.margin)
    ]


def _bounded(ends: tuple[float, float]) -> list[float] | None:
    return list(ends) if all(math.isfinite(end) for end in ends) else None
