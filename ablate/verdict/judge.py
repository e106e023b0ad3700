"""Decide every claim of a study, and return the claims in the form of verdict.json.

A claim is decided by a statistical test or, if it is exact, by a check of every case. The package
ablate.words writes the sentences on the decisions.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from ablate.config.study import Claim, Question
from ablate.errors import track
from ablate.evidence.checks import History, Registration
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import Reason, Run, Values, involves_chance, reason
from ablate.phrases import claim_name
from ablate.stats import Tests, adjust
from ablate.stats.corrections import (
    BORROWED,
    FURTHER,
    ONCE,
    PAIRED,
    false_rate,
    nominal,
    visible_noise,
)
from ablate.stats.estimate import Estimate
from ablate.stats.means import MeanDifference
from ablate.stats.rates import Rates
from ablate.verdict.contrast import control, history_of
from ablate.verdict.exact import Exact, TrainedValue
from ablate.verdict.floor import learning
from ablate.verdict.kind import ClaimResult
from ablate.verdict.kinds import kind_of
from ablate.verdict.sides import labels_of_arms, other_settings, untuned_rates
from ablate.verdict.types import (
    DIRECTION,
    INCONCLUSIVE,
    SUPPORTED,
    Cases,
    Decision,
    Entry,
    status_of,
)

ASKED = tuple(Question.__annotations__)  # fields of a claim, in the order of verdict.json
# always written; the others only if set
KEPT = tuple(key for key in ASKED if key in Question.__required_keys__)
# how a claim is measured, written if set, under the names of verdict.json
MEASURED = {
    **{key: key for key in ("measures", "control_measures", "design", "target")},
    "control": "fault",
}


class Decided(NamedTuple):
    """A claim with its statistical result, its Holm-adjusted p-values, and its decision.

    The p-values are multiplied so that each is compared with alpha.
    """

    finding: ClaimResult
    p: Tests
    decision: Decision


class JudgedClaim(NamedTuple):
    """A claim as an entry of verdict.json, with the data from which its caveats are computed.

    `seen_before` says whether a pair of its runs is older than the registration. `untuned` has the
    learning rates of the treatment with which the baseline was never trained.
    """

    finding: ClaimResult
    entry: Entry
    history: History
    seen_before: bool
    untuned: list[str]
    noise: Reason | None


def decide(evidence: Evidence, waiting: Sequence[Claim] = ()) -> list[Decided]:
    """Return the decision on every claim.

    Exact claims (a condition must hold in every case) have no random error and no p-values.

    Args:
        evidence: the evidence of the study.
        waiting: planned claims that lack the runs of an arm. Those with a statistical test count in
            the correction with the p-value 1, so that their later results cannot undo a decision.

    Raises:
        UserError: the recorded score of a run and its statistics disagree.
    """
    claims = evidence.study["claims"]
    counted = track(claims, "judging claims", len(claims))
    findings = [kind_of(claim).evaluate(claim, evidence) for claim in counted]
    scaled = [kind_of(finding.claim).scaled_to_alpha(finding.p) for finding in findings]
    later = [{SUPPORTED: 1.0} if involves_chance(claim) else {} for claim in waiting]
    adjusted = adjust([*scaled, *later], [claim["alpha"] for claim in (*claims, *waiting)])
    return [Decided(f, p, _decision(f, p)) for f, p in zip(findings, adjusted, strict=False)]


def _decision(finding: ClaimResult, p: Tests) -> Decision:
    """Return the decision on a claim.

    If the rates of failed runs decide, the decision has no grade.

    Args:
        finding: the statistical result of the claim.
        p: p-values by name of the decision, multiplied so that each is compared with alpha.
    """
    if isinstance(finding.result, Exact):
        return Decision(finding.result.verdict)
    if finding.rates is not None:
        return Decision(status_of(p, finding.claim["alpha"]))
    return kind_of(finding.claim).decide(p, finding.claim["alpha"])


def judge(
    decided: Sequence[Decided],
    evidence: Evidence,
    waiting: Sequence[Claim],
    primary: str,
    study_changed: bool,
) -> list[JudgedClaim]:
    """Return every claim as an entry of verdict.json, together with the data from which its caveats
    are computed.

    Args:
        decided: the claims with their decisions.
        evidence: the evidence of the study.
        waiting: planned claims that lack the runs of an arm.
        primary: name of the first claim of the study.
        study_changed: whether the study differs from the registered study.
    """
    registration = evidence.registration
    open_claims = sum(involves_chance(claim) for claim in waiting)
    open_claims += sum(bool(p) and decision.status == INCONCLUSIVE for _, p, decision in decided)
    judged = []
    for each in decided:
        finding, claim = each.finding, each.finding.claim
        history, noise = history_of(claim, evidence), seen_noise(finding)
        rates = untuned_rates(claim, finding.sides, evidence)
        older = older_runs(finding.runs, registration)
        earlier = bool(registration["earlier"])
        seen_before = bool(older) and (earlier or _has_older_pair(finding, registration))
        progress = learning(claim, finding.sides, evidence, finding.result.effect)
        entry: Any = {
            **_question(claim),
            **_result(each, open_claims),
            **_counts(finding),
            **_of_test(finding, evidence, noise),
            "arms": labels_of_arms(claim),
            "failed_runs": sum(run["status"] == "failed" for run in finding.runs),
            "exploratory": bool(study_changed or seen_before or rates or history["tried"]),
            "older_cells": older,
            "primary": claim_name(claim) == primary,
        }
        if settings := other_settings(finding.sides, evidence.study):
            entry["settings"] = settings
        if progress["gains"]:
            entry["learning"] = progress
        if not progress["gains"] or progress["still"]:
            entry = make_undecided(entry, reason("still_learning"))
        judged.append(JudgedClaim(finding, entry, history, seen_before, rates, noise))
    return judged


def make_undecided(entry: Entry, why: Reason) -> Entry:
    """Return the result of a claim, undecided if it supports that an arm *cannot* do something,
    because longer training might refute the claim.

    Args:
        entry: the claim in the form of verdict.json.
        why: the reason, which is stored in the result.
    """
    if not entry.get("cannot") or entry["verdict"] != SUPPORTED:
        return entry
    nothing: Any = {"grade": "", "sensitivity": [], "p_look": {}}  # no test is decisive any more
    undecided: Any = {**entry, **nothing, "verdict": INCONCLUSIVE, "withheld": why}
    return cast(Entry, undecided)


def older_runs(runs: Iterable[Run], registration: Registration) -> int:
    """Return how many runs ended before the registration of the study, apart from failed runs."""
    return sum(run["status"] != "failed" and run["ended"] < registration["time"] for run in runs)


def _has_older_pair(finding: ClaimResult, registration: Registration) -> bool:
    """Return whether all runs of any pair of a claim ended before the registration of the study.

    The difference of such a pair was known when the claim was written. A shared baseline alone does
    not show how the claim will come out.
    """
    seeds = set.intersection(*(set(side.runs) for side in finding.sides))
    pairs = (zip(*(side.runs[seed] for side in finding.sides), strict=False) for seed in seeds)
    return any(older_runs(pair, registration) == len(pair) for of_seed in pairs for pair in of_seed)


def _question(claim: Any) -> Values:
    """Return the question of a claim as fields of verdict.json."""
    asked = {key: claim.get(key) for key in ASKED if key in KEPT or claim.get(key)}
    measured = {n: claim[key] for key, n in MEASURED.items() if claim.get(key) not in (None, "")}
    return {**asked, **measured, "tolerance": claim["tolerance"]}


def _result(decided: Decided, open_claims: int) -> Values:
    """Return the result of a claim as fields of verdict.json.

    Args:
        decided: the claim with its decision.
        open_claims: number of undecided claims, which share alpha by Holm's correction.
    """
    finding, p_adjusted, decision = decided
    claim, estimate, paired = finding.claim, finding.result, finding.paired
    kind, is_open = kind_of(claim), decision.status == INCONCLUSIVE
    shared = claim["alpha"] / (open_claims if is_open and finding.p else 1)
    decidable = not finding.problem and finding.rates is None
    share = 2 * nominal(shared / 2, estimate.looks)  # part of alpha for this interim analysis
    more = decidable and (is_open or decision.grade == DIRECTION)
    plans = kind.seeds_needed(claim, estimate, shared) if more else {}
    bands = kind.decision_thresholds(estimate, claim["alpha"]) if decidable else []
    scaled = kind.scaled_to_alpha(finding.p)
    entry: Values = {
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
        "noise": list(estimate.noise_sources),
        "detectable": kind.detectable(claim, estimate, share) if decidable else None,
        "seeds_needed": plans or None,
        # with other margins; for an exact claim with a tolerance, with other tolerances
        "sensitivity": [band for band in bands if math.isfinite(band["from"])],
    }
    uncorrected = _decision(finding, scaled)
    if uncorrected != decision and not finding.problem:
        entry["uncorrected"] = {"verdict": uncorrected.status, "grade": uncorrected.grade}
    return entry


def _counts(finding: ClaimResult) -> Values:
    """Return the numbers of sentences, runs and cases of a claim, as fields of verdict.json.

    Only the fields that apply to the claim are returned.
    """
    estimate, cases = finding.result, finding.cases
    entry: Values = {}
    if isinstance(estimate, Estimate) and estimate.sentences and estimate.units == "sentences":
        entry["sentences"] = estimate.sentences
    if isinstance(estimate, Estimate) and estimate.arms and (more := estimate.arms.further):
        entry["unpaired_runs"] = more
    if isinstance(estimate, MeanDifference):
        entry["counts"] = list(estimate.counts)
    if isinstance(estimate, Rates):
        first, second = (estimate.first, estimate.of_first), (estimate.second, estimate.of_second)
        entry["rates"] = [first, second]
    if finding.failures:
        entry["failed_to_learn"] = finding.failures
    if finding.rates is not None:
        entry["decided_by_failures"] = True
    if cases is not None:
        counts: Cases = {
            "of": len(cases.cases),
            "counted": len(cases.counted),
            "broken": cases.n_violations,
            "draws": cases.draws,
            "control": cases.control,
        }
        if cases.elsewhere is not None:
            counts["elsewhere"] = cases.elsewhere
        if isinstance(estimate, TrainedValue):
            counts["holding"] = estimate.holding
        seeds = sorted({case.seed for case in cases.cases})
        values = [case.value for case in cases.counted]
        entry |= {"seeds": seeds, "differences": values, "cases": counts}
    return entry


def _of_test(finding: ClaimResult, evidence: Evidence, noise: Reason | None) -> Values:
    """Return the fields of verdict.json on the test of a claim; {} for an exact claim."""
    estimate, claim, kind = finding.result, finding.claim, kind_of(finding.claim)
    entry: Values = {}
    if finding.problem:
        entry["problem"] = finding.problem
    if noise is not None:
        entry["false_rate"] = noise["values"]["rate"]
    if estimate.looks != ONCE:
        entry["information"] = list(estimate.looks)
    if finding.p and SUPPORTED in kind.full_alpha:
        entry["interval_equivalence"] = _bounded(estimate.interval(1 - 2 * claim["alpha"]))
    if kind.controlled:
        entry["control"] = control(claim, evidence)
    return entry


def _bounded(ends: tuple[float, float]) -> list[float] | None:
    return list(ends) if all(math.isfinite(end) for end in ends) else None


def seen_noise(finding: ClaimResult) -> Reason | None:
    """Return why false verdicts may be more frequent than the nominal level promises, such as
    "visible skewness", with the rate of false verdicts in simulations.

    The result is None if the claim was not decided by a mean of paired differences.
    """
    effect, paired = finding.result, finding.paired
    if finding.problem or finding.rates or paired is None or not isinstance(effect, Estimate):
        return None
    if effect.skewness is None or not effect.error > 0:
        return None
    equivalence = SUPPORTED in kind_of(finding.claim).full_alpha
    measured = PAIRED
    if effect.arms is not None:
        measured = FURTHER if effect.arms.further else BORROWED
    return reason(
        "noise",
        reason=visible_noise(effect.skewness, paired.differences),
        seeds=max(effect.pairs, min(measured)),  # fewer were not simulated
        rate=false_rate(effect.pairs, equivalence=equivalence, measured=measured),
        nominal=finding.claim["alpha"] / (1 if equivalence else 2),
    )
