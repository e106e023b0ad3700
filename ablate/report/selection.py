"""Select the data of a report from the runs, the study and the verdict of an experiment."""

from typing import Any, cast

from ablate.config.labels import arm_label, factor_label
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import STATUSES, UNSTABLE, value
from ablate.evidence.table import by_label
from ablate.evidence.types import Claim, Entry, Question, ReportedClaim, Run, Verdict
from ablate.metric.table import METRICS, Metric, metric_in_words, metric_of
from ablate.phrases import grouped
from ablate.verdict.wording.details import details

# the unit of a slope; an exponent has none
PER = {"linear": "per unit of", "log": "per doubling of", "log_log": ""}


def claims(evidence: Evidence, verdict: Verdict) -> list[ReportedClaim]:
    """Return every claim with its fields in the study, its fields in the verdict, and the details
    of its answer.
    """
    asked = {_key(claim): claim for claim in evidence.study["claims"]}
    return [_reported(asked[_key(answer)], answer) for answer in verdict["claims"]]


def _reported(claim: Claim, answer: Entry) -> ReportedClaim:
    reported: Any = {**claim, **answer, "details": details(claim, answer)}
    if "short" in answer:
        short = answer["short"]
        reported["short"] = {**short, "details": details(claim, short)}
    return cast(ReportedClaim, reported)


def _key(claim: Question) -> tuple[str, str]:
    """Return the id of a claim and the name of its reading, which identify the claim in a study.

    A reading is one of several meanings of an ambiguous sentence; the name is "" if the sentence
    has only one meaning.
    """
    return claim["id"], claim.get("reading", "")


def contrast(claim: ReportedClaim) -> list[str]:
    """Return the arms that a claim compares, in short lines: `Pre-LN`, `against Post-LN`, `with no
    warm-up`.
    """
    lines = [f"slope over {factor_label(claim['over'])}"] if claim["kind"] == "trend" else []
    if claim["treatment"]:
        lines = [arm_label(claim["treatment"]), f"against {arm_label(claim['baseline'])}"]
    lines += [f"with {arm_label(claim['where'])}"] if claim["where"] else []
    lines += [f"after {grouped(claim['steps'])} steps"] if "steps" in claim else []
    return lines + ([f"more than with {arm_label(claim['minus'])}"] if claim["minus"] else [])


def named_metric(evidence: Evidence, key: str) -> Metric:
    """Return the description of a metric, with its name and unit.

    For a metric that is not in the project's table of metrics, such as the measurement of a probe,
    the name is taken from the key `measures` of a claim about the metric.
    """
    if key.rpartition("/")[2] in METRICS:
        return metric_of(key)
    names = (c.get("measures") for c in evidence.study["claims"] if c["metric"] == key)
    return metric_in_words(key, next(filter(None, names), None))


def has_effect(claim: ReportedClaim) -> bool:
    """Return whether a claim compares arms and has an estimated effect."""
    compared = claim["kind"] == "trend" or bool(claim["treatment"])
    return compared and claim["effect"] is not None


def bound(claim: ReportedClaim) -> tuple[str, float]:
    """Return the number with which an effect is compared: "margin" or "tolerance", and its size (0
    for none).
    """
    which = "tolerance" if claim["kind"] == "exact" and not claim["margin"] else "margin"
    return which, claim["tolerance"] if which == "tolerance" else claim["margin"]


def effect_axis(claim: ReportedClaim) -> str:
    """Return the label, with the unit, of the axis on which the effect of a claim is drawn."""
    metric = metric_in_words(claim["metric"], claim.get("measures"))
    if claim["kind"] == "trend":
        turned = "" if claim["better"] == "higher" else ", sign turned"
        per, over = PER[claim["scale"]], factor_label(claim["over"])
        if not per:
            return f"exponent of {metric.name} over {over}{turned}"
        return f"slope of {metric.axis} {per} {over}{turned}"
    if claim["metric"].endswith("changed"):  # this metric is a difference already
        return metric.axis
    falls = claim["better"] == "lower" and claim["kind"] != "exact"  # a gain is then a fall
    return f"{'fall of' if falls else 'difference in'} {metric.axis}"


def outcomes(runs: list[Run]) -> dict[str, dict[str, int]]:
    """Return, for every arm, the number of runs by status."""
    return {
        arm: {status: sum(run["status"] == status for run in members) for status in STATUSES}
        for arm, members in by_label(runs).items()
    }


def measured(run: Run, metric: str) -> float | None:
    """Return the value of a metric for a run; None if the run failed or the value is missing."""
    if run["status"] == "failed":
        return None
    try:
        return value(run, metric)
    except KeyError:
        return None


def shown(evidence: Evidence, verdict: Verdict) -> list[str]:
    """Return the metrics for which the value of every run is drawn: the metrics of all claims
    except trend claims, and test BLEU. Metrics that no run has are left out.
    """
    asked = [claim["metric"] for claim in verdict["claims"] if claim["kind"] != "trend"]
    return [
        metric
        for metric in dict.fromkeys([*asked, "test/bleu"])
        if metric not in UNSTABLE
        and any(run["metrics"].get(metric) is not None for run in evidence.runs)
    ]
