"""From the evidence of a study to its verdicts: pure and deterministic.

Several claims: verdicts follow Holm-adjusted p-values (ablate.stats.holm), intervals are shown
unadjusted for that. Looks are paid for before it, in the p-values and intervals of each claim
(ablate.stats.spending). Of two budgets each has its own verdicts, as another regime has.
"""

import statistics
from typing import Any, cast

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import STATUSES
from ablate.evidence.registration import departures
from ablate.evidence.table import by_label, values
from ablate.evidence.types import Arm, Entry, Regime, Registration, Run, Spread, Verdict
from ablate.phrases import listed
from ablate.record.label import value_text
from ablate.stats.spending import spent
from ablate.verdict.budgets import both
from ablate.verdict.decide import decide
from ablate.verdict.decision import INCONCLUSIVE
from ablate.verdict.exact import Exact
from ablate.verdict.interim import asked_of
from ablate.verdict.judge import age, judged
from ablate.verdict.kind.base import Finding
from ablate.verdict.learning import withheld
from ablate.verdict.wording.caveats import caveats
from ablate.verdict.wording.layers import with_layers

# What a regime calls a config key that may be a factor; the steps stay the number that they are.
REGIME = {
    **{name: name for name in ("scale", "data", "model", "threads")},
    "model.d_model": "d_model",
    "model.n_layers": "n_layers",
    "batch.tokens": "tokens_per_step",
    "trainer.precision": "precision",
}
UNREGISTERED = Registration(hash="", time=0.0, earlier=[], looks=0)


def conclude(evidence: Evidence) -> Verdict:
    """Return what verdict.json holds: a verdict per claim, the arms, and all caveats.

    Where the study is not the one that was registered, every verdict is exploratory.

    Raises:
        UserError: the record of a run and its statistics disagree.
    """
    registration = UNREGISTERED | evidence.registration
    findings, claims = _judged(evidence, registration)
    short = evidence.short
    early = _judged(short, registration)[1] if short else []
    departed = departures(evidence.study, registration, evidence.registered, evidence.runs)
    noted = [*departed, *caveats(evidence, findings, claims)]
    for claim in (*claims, *early):
        claim["exploratory"] |= bool(departed or asked_of(claim, evidence)["tried"])
    entries = both(claims, early, evidence, short) if short else claims
    answered = zip(evidence.study["claims"], entries, strict=True)
    return {
        "experiment": evidence.name,
        "regime": _regime(evidence),
        "components": registration.get("components", {}),
        "study_hash": registration["hash"],
        "registered": registration["time"],
        "looks": registration["looks"],
        "alpha_spent": alpha_spent(findings),
        "versions": versions(evidence.runs),
        "exploratory": any(claim["exploratory"] for claim in claims),
        "runs": len(evidence.runs),
        "failed_runs": sum(run["status"] == "failed" for run in evidence.runs),
        "reused_runs": sum(run["reused"] for run in evidence.runs),
        "older_runs": age(evidence.runs, registration)[0],
        "caveats": noted,
        "claims": [with_layers(claim, entry) for claim, entry in answered],
        "arms": [_arm(label, runs) for label, runs in by_label(evidence.runs).items()],
    }


def _judged(evidence: Evidence, registration: Registration) -> tuple[list[Finding], list[Entry]]:
    """What is found of every claim, and its entry."""
    found = decide(evidence)
    undecided = sum(bool(p) and one.status == INCONCLUSIVE for _, p, one in found)
    findings = [finding for finding, _, _ in found]
    claims = [
        judged(finding, p, undecided, registration, evidence, primary=number == 0)
        for number, (finding, p, _) in enumerate(found)
    ]
    pairs = zip(findings, claims, strict=True)
    return findings, [withheld(finding.claim, entry, evidence) for finding, entry in pairs]


def _regime(evidence: Evidence) -> Regime:
    """The regime; of a size or setting that is a factor, its levels and not the default."""
    found: Any = dict(evidence.regime)
    for factor in evidence.study["factors"]:
        name = REGIME.get(factor, "")
        if name in found:
            levels = dict.fromkeys(value_text(run["levels"][factor]) for run in evidence.runs)
            found[name] = listed(list(levels))
    regime: Regime = found
    return regime


def alpha_spent(findings: list[Finding]) -> float:
    """The largest part of a claim's alpha that the looks so far may have used up."""
    parts = [
        finding.claim["alpha"]
        if isinstance(finding.found, Exact)
        else 2 * spent(finding.claim["alpha"] / 2, finding.found.looks[-1])
        for finding in findings
    ]
    return max(parts, default=0.0)


def versions(runs: list[Run]) -> dict[str, str | list[str]]:
    """Versions of what the runs executed; a list where they differ."""
    names = dict.fromkeys(name for run in runs for name in run["versions"])
    found = {n: sorted({r["versions"][n] for r in runs if n in r["versions"]}) for n in names}
    return {name: known[0] if len(known) == 1 else known for name, known in found.items()}


def _arm(label: str, runs: list[Run]) -> Arm:
    ended = [run for run in runs if run["status"] != "failed"]
    metrics = dict.fromkeys(metric for run in ended for metric in run["metrics"])
    found: Any = {
        "arm": runs[0]["arm"],
        "label": label,
        "levels": runs[0]["levels"],
        "seeds": len(ended),
        **{status: sum(run["status"] == status for run in runs) for status in STATUSES},
        "metrics": {metric: known for metric in metrics if (known := _spread(ended, metric))},
    }
    return cast(Arm, found)


def _spread(runs: list[Run], metric: str) -> Spread | None:
    found = values(runs, metric)
    if not found:
        return None
    sd = statistics.stdev(found) if len(found) > 1 else None
    return {"mean": statistics.fmean(found), "sd": sd}
