"""One claim and the evidence: what is estimated, and its verdict as verdict.json has it."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Band, Cases, Claim, Entry, Found, Question, Registration, Run
from ablate.stats.estimate import SENTENCES, Estimate
from ablate.stats.holm import Tests
from ablate.stats.rates import Rates
from ablate.stats.signs import sign_flip
from ablate.stats.spending import ONCE, nominal
from ablate.verdict.control import Control, control
from ablate.verdict.decide import decision as decide
from ablate.verdict.decision import DIRECTION, INCONCLUSIVE, SUPPORTED, Turn
from ablate.verdict.exact import Exact
from ablate.verdict.kind import kind_of
from ablate.verdict.kind.base import Finding
from ablate.verdict.seen_noise import seen_noise
from ablate.verdict.sides import names
from ablate.verdict.trained import TrainedValue

ASKED = tuple(Question.__annotations__)  # of a claim, in the order of verdict.json
KEPT = tuple(key for key in ASKED if key in Question.__required_keys__)  # the others if used


def judged(
    finding: Finding,
    p_adjusted: Tests,
    undecided: int,
    registration: Registration,
    evidence: Evidence,
    *,
    primary: bool,
) -> Entry:
    """The entry of a claim in verdict.json; `undecided` claims share alpha by Holm's correction."""
    claim = finding.claim
    older, exploratory = age(finding.runs, registration)
    entry: Any = {key: value for key, value in _in_order(claim) if key in KEPT or value}
    if isinstance(finding.found, Exact):
        entry |= _exact(claim, finding.found)
    else:
        entry |= _effect(finding, p_adjusted, undecided, control(claim, evidence))
    known: Entry = entry | {
        "arms": names(claim),
        "failed_runs": sum(run["status"] == "failed" for run in finding.runs),
        "exploratory": exploratory,
        "older_cells": older,
        "primary": primary,
    }
    return known


def _in_order(claim: Claim) -> Iterator[tuple[str, Any]]:
    """The keys of a claim's question with their values, None for those that it does not have."""
    given: Mapping[str, object] = claim
    return ((key, given.get(key)) for key in ASKED)


def age(runs: list[Run], registration: Registration) -> tuple[int, bool]:
    """Number of runs that ended before the study was registered; whether that makes it exploratory.

    It does when all of them had, or when the study had another form while some of them had.
    """
    ended = [run for run in runs if run["status"] != "failed"]
    older = sum(run["ended"] < registration["time"] for run in ended)
    return older, older > 0 and (older == len(ended) or bool(registration["earlier"]))


def _exact(claim: Claim, found: Exact) -> Found:
    return {
        "verdict": found.verdict,
        "grade": "",
        "effect": found.worst,
        "interval": None,
        "p": {},
        "p_adjusted": {},
        "p_look": {},
        "seeds": found.seeds,
        "pairs": len(found.counted),
        "differences": found.values,
        "method": "every case is checked",
        "levels_of_noise": "none: a case holds or does not",
        "detectable": None,
        "seeds_needed": None,
        "sensitivity": _bands(kind_of(claim).turns(found, claim["alpha"])),
        "cases": _cases(found),
    }


def _cases(found: Exact) -> Cases:
    cases: Cases = {
        "of": len(found.cases),
        "counted": len(found.counted),
        "broken": found.broken,
        "draws": found.draws,
        "control": found.control,
    }
    return cases if found.elsewhere is None else {**cases, "elsewhere": found.elsewhere}


def _effect(finding: Finding, p_adjusted: Tests, undecided: int, held: Control | None) -> Found:
    claim, found, paired = finding.claim, finding.found, finding.paired
    assert not isinstance(found, Exact)
    kind = kind_of(claim)
    decision = decide(finding, p_adjusted)
    open_ = decision.status == INCONCLUSIVE
    shared = claim["alpha"] / (undecided if open_ else 1)
    decidable = not finding.problem and finding.rates is None
    share = 2 * nominal(shared / 2, found.looks)  # of alpha, at this look
    least = kind.detectable(claim, found, share) if decidable else None
    more = decidable and (open_ or decision.grade == DIRECTION)
    plans = kind.seeds_needed(claim, found, shared) if more else {}
    turns = kind.turns(found, claim["alpha"]) if decidable else []
    scaled = kind.scaled(finding.p)
    uncorrected = decide(finding, scaled)
    entry: Found = {
        "verdict": decision.status,
        "grade": decision.grade,
        "effect": None if math.isnan(found.effect) else found.effect,
        "interval": _bounded(found.interval(1 - claim["alpha"])),
        "p": finding.p,
        "p_adjusted": p_adjusted,
        "p_look": scaled,
        "seeds": paired.seeds if paired else [],
        "pairs": found.pairs,
        "differences": paired.differences.tolist() if paired else [],
        "method": found.method,
        "levels_of_noise": found.levels_of_noise,
        "sign_flip": sign_flip(paired.differences) if paired and len(paired.seeds) else None,
        "detectable": least,
        "seeds_needed": {side: plan.entry() for side, plan in plans.items()} or None,
        "sensitivity": _bands(turns),
    }
    if uncorrected != decision and not finding.problem:
        entry["uncorrected"] = str(uncorrected)
    besides: Any = _counts(finding) | _of_kind(finding, held)
    return {**entry, **besides}


def _counts(finding: Finding) -> dict[str, Any]:
    """The numbers of runs, cases and sentences that some claims have."""
    found, cases = finding.found, finding.cases
    entry: dict[str, Any] = {}
    if isinstance(found, Estimate) and found.sentences and found.units == SENTENCES:
        entry["sentences"] = found.sentences
    if isinstance(found, Rates):
        entry["rates"] = [(found.first, found.of_first), (found.second, found.of_second)]
    if finding.failures:
        entry["failed_to_learn"] = finding.failures
    if finding.rates is not None:
        entry["decided_by_failures"] = True
    if cases is not None:
        holding = {"holding": found.holding} if isinstance(found, TrainedValue) else {}
        entry |= {"seeds": cases.seeds, "differences": cases.values}
        entry["cases"] = {**_cases(cases), **holding}
    return entry


def _of_kind(finding: Finding, held: Control | None) -> dict[str, Any]:
    """What only some kinds of claims, or claims at some looks, have."""
    found, kind, claim = finding.found, kind_of(finding.claim), finding.claim
    assert not isinstance(found, Exact)
    entry: dict[str, Any] = {}
    if finding.problem:
        entry["problem"] = finding.problem
    if (noise := seen_noise(finding)) is not None:
        entry["false_rate"] = noise.rate
    if found.looks != ONCE:
        entry["information"] = list(found.looks)
    if SUPPORTED in kind.whole:
        entry["interval_equivalence"] = _bounded(found.interval(1 - 2 * claim["alpha"]))
    if kind.controlled:
        entry["control"] = held.entry() if held else None
    return entry


def _bands(turns: list[Turn]) -> list[Band]:
    """What the verdict would be from each margin (exact claims: tolerance) on."""
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
