"""Derive the verdicts of a study from its evidence; the result is deterministic.

With several claims, verdicts use Holm-adjusted p-values (ablate.stats.holm). Intervals are not
adjusted. The p-values and intervals of each claim already account for interim analyses
(ablate.stats.spending). If the runs are tested at two budgets, each budget has separate verdicts.
Claims of a screen whose variants have no runs yet get no verdict, but count in the correction.
"""

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import Any, cast

from ablate.config.labels import use_labels
from ablate.evidence.about import Registration
from ablate.evidence.folder import Evidence
from ablate.evidence.looks import split_claims
from ablate.evidence.outcome import STATUSES
from ablate.evidence.registration import departures
from ablate.evidence.table import by_label, spread, steps_of
from ablate.evidence.types import Arm, Run, Setting, Verdict
from ablate.phrases import name_of
from ablate.stats.spending import spent
from ablate.verdict.caveats import caveats
from ablate.verdict.combined import combined
from ablate.verdict.judge import Decided, decide, judge, older_runs
from ablate.verdict.stages import both, unfinished
from ablate.verdict.study_checks import BUDGET

# Config keys that may be factors, with their names in the setting of a study.
SETTING = {
    **{name: name for name in ("scale", "data", "model", "threads")},
    "model.d_model": "d_model",
    "model.n_layers": "n_layers",
    "batch.tokens": "tokens_per_step",
    "budget.steps": "steps",
    "budget.short": "short",
    "trainer.precision": "precision",
}
# metrics whose means are kept although no claim is about them
ALWAYS = {
    *("test/bleu", "test/nll", "test_long/bleu", "parameters", "steps"),
    # costs that the report of a screen (many variants against one baseline) shows
    *("measure/microseconds", "measure/bytes"),
}
RULE = 2  # of the error of an effect: docs/explanation/statistics.md; 1 if verdict.json has none
UNREGISTERED = Registration(hash="", time=0.0, earlier=[], looks=0)


def conclude(evidence: Evidence) -> Verdict:
    """Return the content of verdict.json without its sentences: a verdict per claim, the arms, and
    all caveats.

    If the study differs from the registered study, every verdict is exploratory. Sentences use the
    labels that the registration stores, and so does the process from then on.

    Raises:
        UserError: the recorded BLEU of a run and its statistics per sentence disagree.
    """
    registration = UNREGISTERED | evidence.registration
    use_labels(registration.get("labels", {}))
    departed = []
    if not evidence.is_table:
        departed = departures(evidence.study, registration, evidence.registered, evidence.runs)
    answerable, waiting = split_claims(evidence.runs, evidence.study)
    primary = next(map(name_of, evidence.study["claims"]), "")
    evidence = replace(evidence, study=evidence.study | {"claims": answerable})
    short = evidence.short
    decided = decide(evidence, waiting)
    early = decide(short, waiting) if short else []
    about = (registration, waiting, primary, bool(departed))
    judged = judge(decided, evidence, *about)
    claims = [each.entry for each in judged]
    if short:
        claims = both(judged, judge(early, short, *about), evidence, short)
    going_on = unfinished([*decided, *early], evidence)
    whole = combined(evidence)
    verdict: Verdict = {
        "experiment": evidence.name,
        "rule": RULE,
        "regime": _setting(evidence),
        "components": registration.get("components", {}),
        "study_hash": registration["hash"],
        "registered": registration["time"],
        "looks": registration["looks"],
        "alpha_spent": alpha_spent(decided),
        "versions": versions(evidence.runs),
        "exploratory": any(claim["exploratory"] for claim in claims),
        "runs": len(evidence.runs),
        "failed_runs": sum(run["status"] == "failed" for run in evidence.runs),
        "reused_runs": sum(run["reused"] for run in evidence.runs),
        "older_runs": older_runs(evidence.runs, registration),
        "caveats": caveats(evidence, judged, waiting, departed, going_on),
        "claims": claims,
        "arms": [
            _arm(label, runs, ALWAYS | {claim["metric"] for claim in claims})
            for label, runs in by_label(evidence.runs).items()
        ],
    }
    return {**verdict, "combined": whole} if whole else verdict


def _setting(evidence: Evidence) -> Setting:
    """Return the setting of a study: corpus, model, sizes, budget of steps, device and so on.

    If a factor of the study varies a part of the setting, such as the model size, this part is the
    list of the factor's levels.
    """
    setting: Any = dict(evidence.regime)
    for factor in evidence.study["factors"]:
        name = SETTING.get(factor, "")
        if name in setting and factor in BUDGET:
            setting[name] = steps_of(evidence.runs, factor, setting[name])
        elif name in setting:
            levels = [run["levels"][factor] for run in evidence.runs]
            setting[name] = [level for i, level in enumerate(levels) if level not in levels[:i]]
    return cast(Setting, setting)


def alpha_spent(decided: Iterable[Decided]) -> float:
    """Return the largest part of alpha that the analyses so far have spent on any claim.

    An exact claim counts with all of its alpha.
    """
    findings = (each.finding for each in decided)
    parts = (2 * spent(f.claim["alpha"] / 2, f.result.looks[-1]) for f in findings)
    return max(parts, default=0.0)


def versions(runs: list[Run]) -> dict[str, str | list[str]]:
    """Return the version of each package that the runs used; a list of versions if runs differ."""
    names = dict.fromkeys(name for run in runs for name in run["versions"])
    by_name = {n: sorted({r["versions"][n] for r in runs if n in r["versions"]}) for n in names}
    return {name: used[0] if len(used) == 1 else used for name, used in by_name.items()}


def _arm(label: str, runs: list[Run], asked: Set[str]) -> Arm:
    """Return the numbers of runs of an arm by status, and the means of the metrics in `asked`.

    All other metrics are in the evidence (runs.jsonl).
    """
    ended = [run for run in runs if run["status"] != "failed"]
    metrics = dict.fromkeys(m for run in ended for m in run["metrics"] if m in asked)
    entry: Any = {
        "arm": runs[0]["arm"],
        "label": label,
        "levels": runs[0]["levels"],
        "seeds": len(ended),
        **{status: sum(run["status"] == status for run in runs) for status in STATUSES},
        "metrics": {metric: x for metric in metrics if (x := spread(ended, metric))},
    }
    return cast(Arm, entry)
