"""One claim and the evidence: what is estimated, and its verdict as verdict.json has it."""

import math
from dataclasses import dataclass, field
from typing import Any

from ablate.study import wording
from ablate.study.contrast import Contrast, contrast
from ablate.study.estimate import Estimate, estimate
from ablate.study.evidence import Evidence, Run
from ablate.study.exact import Exact, examine
from ablate.study.floor import nothing_learned
from ablate.study.holm import Tests
from ablate.study.outcome import UNSTABLE
from ablate.study.power import detectable, seeds_needed
from ablate.study.rates import Rates
from ablate.study.sides import ContrastError, names, sides
from ablate.study.signs import sign_flip
from ablate.study.verdict import (
    EQUIVALENCE,
    INCONCLUSIVE,
    Tested,
    decide,
    on_scale_of_alpha,
    one_sided,
)

Claim = dict[str, Any]
KEPT = (
    *("id", "statement", "source", "kind", "metric", "better", "margin", "margin_reason"),
    *("alpha", "where", "treatment", "baseline", "minus", "over", "scale"),
)
NOTHING = Estimate(math.nan, 0, 0, math.nan, math.nan)


@dataclass(frozen=True)
class Finding:
    """What the evidence says of a claim, before its verdict."""

    claim: Claim
    found: Tested | Exact
    runs: list[Run]  # all that the claim is about, failed ones too
    paired: Contrast | None = None
    p: Tests = field(default_factory=dict)  # one-sided, not adjusted; empty for an exact claim
    problem: str = ""  # why there is nothing to judge


def find(claim: Claim, evidence: Evidence) -> Finding:
    """Estimate what a claim is about.

    Raises:
        UserError: the record of a run and its statistics disagree.
    """
    if claim["kind"] == "exact":
        exact = examine(claim, evidence)
        return Finding(claim, exact, exact.runs)
    try:
        paired = contrast(claim, evidence)
    except ContrastError as problem:
        return Finding(claim, NOTHING, [], None, one_sided(claim, NOTHING), str(problem))
    if claim["kind"] == "stability":
        found: Tested = _rates(claim, evidence)
    elif why := nothing_learned(claim, evidence):
        return Finding(claim, NOTHING, paired.runs, paired, one_sided(claim, NOTHING), why)
    else:
        found = estimate(paired.differences, paired.parts)
    return Finding(claim, found, paired.runs, paired, one_sided(claim, found))


def _rates(claim: Claim, evidence: Evidence) -> Rates:
    """Runs that went wrong in each arm, paired or not; the arm whose share counts as plus first."""
    counts = []
    for side in sorted(sides(claim, evidence), key=lambda side: -side.weight):
        ended = [r for runs in side.runs.values() for r in runs if r["status"] != "failed"]
        wrong = sum(run["status"] in UNSTABLE[claim["metric"]] for run in ended)
        counts += [wrong, len(ended)]
    return Rates(*counts)


def judged(
    finding: Finding, p_adjusted: Tests, spending: float, undecided: int, registration: Any
) -> dict[str, Any]:
    """The entry of a claim in verdict.json.

    `spending` is the share of alpha that this look may use; `undecided` the number of claims among
    which Holm's correction still divides it.
    """
    claim = finding.claim
    older, exploratory = age(finding.runs, registration)
    entry = {key: claim[key] for key in KEPT}
    if isinstance(finding.found, Exact):
        entry |= _exact(claim, finding.found)
    else:
        entry |= _effect(finding, p_adjusted, spending * claim["alpha"], undecided)
    return entry | {
        "arms": names(claim),
        "failed_runs": sum(run["status"] == "failed" for run in finding.runs),
        "exploratory": exploratory,
        "older_cells": older,
    }


def age(runs: list[Run], registration: dict[str, Any]) -> tuple[int, bool]:
    """Number of runs that ended before the study was registered; whether that makes it exploratory.

    It does when all of them had, or when the study had another form while some of them had.
    """
    ended = [run for run in runs if run["status"] != "failed"]
    older = sum(run["ended"] < registration["time"] for run in ended)
    return older, older > 0 and (older == len(ended) or bool(registration["earlier"]))


def _exact(claim: Claim, found: Exact) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "effect": found.worst,
        "interval": None,
        "p": {},
        "p_adjusted": {},
        "seeds": sorted({case.seed for case in found.cases}),
        "pairs": len(found.counted),
        "differences": [case.value for case in found.counted],
        "among_converged_pairs": None,
        "method": "every case is checked",
        "levels_of_noise": "none: a case holds or does not",
        "detectable": None,
        "seeds_needed": None,
        "sentence": wording.of_cases(claim, found),
    }


def _effect(finding: Finding, p_adjusted: Tests, alpha: float, undecided: int) -> dict[str, Any]:
    claim, found, paired = finding.claim, finding.found, finding.paired
    assert not isinstance(found, Exact)
    verdict = decide(claim, found.effect, p_adjusted, alpha)
    share = alpha / undecided if verdict == INCONCLUSIVE else alpha
    least = detectable(claim, found, share)
    needed = seeds_needed(claim, found, share) if verdict == INCONCLUSIVE else None
    said = wording.sentence(claim, found, verdict, least, needed)
    alone = decide(claim, found.effect, on_scale_of_alpha(claim, finding.p), claim["alpha"])
    if alone != verdict:
        said += f" Uncorrected for the file's other claims and for earlier looks it is {alone}."
    entry = {
        "verdict": verdict,
        "effect": None if math.isnan(found.effect) else found.effect,
        "interval": _bounded(found.interval(1 - claim["alpha"])),
        "p": finding.p,
        "p_adjusted": p_adjusted,
        "seeds": paired.seeds if paired else [],
        "pairs": found.pairs,
        "differences": paired.differences.tolist() if paired else [],
        "among_converged_pairs": _converged(claim, paired),
        "method": found.method,
        "levels_of_noise": found.levels_of_noise,
        "sign_flip": sign_flip(paired.differences) if paired and len(paired.seeds) else None,
        "detectable": least,
        "seeds_needed": needed,
        "sentence": f"{finding.problem}: {verdict}." if finding.problem else said,
    }
    if claim["kind"] == EQUIVALENCE:
        entry["interval_equivalence"] = _bounded(found.interval(1 - 2 * claim["alpha"]))
    return entry


def _converged(claim: Claim, paired: Contrast | None) -> dict[str, Any] | None:
    """The same over the pairs whose runs all finished; None for claims about those that did not."""
    if paired is None or claim["kind"] == "stability":
        return None
    kept = paired.among_converged()
    found = estimate(kept.differences, kept.parts)
    return {
        "pairs": found.pairs,
        "effect": None if math.isnan(found.effect) else found.effect,
        "interval": _bounded(found.interval(1 - claim["alpha"])),
    }


def _bounded(ends: tuple[float, float]) -> list[float] | None:
    return list(ends) if all(math.isfinite(end) for end in ends) else None
