"""Select the data of a report from the runs, the study and the verdict of an experiment."""

import statistics
from dataclasses import dataclass

from ablate.config.labels import arm_label, factor_label
from ablate.config.screen import BASELINE, FACTOR
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import STATUSES, UNSTABLE, value
from ablate.evidence.table import by_label
from ablate.evidence.types import Entry, Run, Screen, Verdict
from ablate.metric.table import METRICS, Metric, metric_in_words, metric_of
from ablate.phrases import grouped
from ablate.stats.ties import at_most
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SMALL
from ablate.verdict.kind import kind_of

# the unit of a slope; an exponent has none
PER = {"linear": "per unit of", "log": "per doubling of", "log_log": ""}
TIME, MEMORY = "measure/microseconds", "measure/bytes"  # metrics of ablate.measure

BETTER, WORSE, OPEN = "better", "worse", "undecided"
NOT_WORSE = f"at most the margin {WORSE}, or {BETTER}"
NOT_BETTER = f"at most the margin {BETTER}, or {WORSE}"
SHOWS = (BETTER, WORSE, NOT_WORSE, NOT_BETTER, OPEN)

# the smallest value of each cost, by arm and metric, and by processor
Costs = dict[tuple[str, str], dict[str, float]]


def contrast(claim: Entry) -> list[str]:
    """Return the arms that a claim compares, in short lines: `Pre-LN`, `against Post-LN`, `with no
    warm-up`.
    """
    lines = [f"slope over {factor_label(claim['over'])}"] if claim["kind"] == "trend" else []
    if claim["treatment"]:
        other = f"{claim['target']:g}" if "target" in claim else arm_label(claim["baseline"])
        lines = [arm_label(claim["treatment"]), f"against {other}"]
    lines += [f"with {arm_label(claim['where'])}"] if claim["where"] else []
    if claim.get("predicted") and claim["kind"] == "equivalence":
        lines += ["minus the predicted gain"]
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


def has_effect(claim: Entry) -> bool:
    """Return whether a claim compares arms and has an estimated effect."""
    compared = claim["kind"] == "trend" or bool(claim["treatment"])
    return compared and claim["effect"] is not None


def bound(claim: Entry) -> tuple[str, float]:
    """Return the number with which an effect is compared: "margin" or "tolerance", and its size (0
    for none).
    """
    which = "tolerance" if claim["kind"] == "exact" and not claim["margin"] else "margin"
    return which, claim["tolerance"] if which == "tolerance" else claim["margin"]


def effect_axis(claim: Entry) -> str:
    """Return the label, with the unit, of the axis on which the effect of a claim is drawn."""
    metric = metric_in_words(claim["metric"], claim.get("measures"))
    rises = claim["better"] == "higher"
    if claim["kind"] == "trend":
        per, over = PER[claim["scale"]], factor_label(claim["over"])
        if not per:
            return f"exponent of {metric.name} over {over}{'' if rises else ', sign turned'}"
        return f"{'rise' if rises else 'fall'} of {metric.axis} {per} {over}"
    # this metric is a difference already, or the value of a single arm is drawn
    if claim["metric"].endswith("changed") or not claim["treatment"]:
        return metric.axis
    falls = not rises and claim["kind"] != "exact"  # a gain is then a fall
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


@dataclass(frozen=True)
class Component:
    """A variant of a screen, compared with the baseline.

    `shows` says what the verdict shows about the variant, as one of `SHOWS`. `effect` and
    `interval` are in units of the metric, and positive if the variant is better. `costs` are the
    variant's time and memory per token, each the smallest of its runs, divided by those of the
    baseline; None if they were not measured. Times are compared only on the same processor.
    """

    name: str
    effect: float
    interval: tuple[float, float] | None
    shows: str
    costs: tuple[float | None, float | None]


def components(evidence: Evidence, verdict: Verdict) -> list[Component]:
    """Return the variants of a screen (a study that compares many variants with one baseline) that
    have an estimated effect, best first; [] for another study.
    """
    screen = evidence.study.get("screen")
    if not screen:
        return []
    costs = _costs(evidence)
    rows = [
        _component(claim, screen, costs)
        for claim in verdict["claims"]
        if claim["metric"] == screen["metric"] and claim["effect"] is not None and _variant(claim)
    ]
    return sorted(rows, key=lambda row: -row.effect)


def _variant(claim: Entry) -> str:
    """Return the variant that a claim compares with the baseline; "" if the claim compares other
    arms.
    """
    arms = {str(levels.get(FACTOR)) for levels in (claim["treatment"], claim["baseline"])}
    variants = arms - {BASELINE}
    return variants.pop() if len(variants) == 1 and BASELINE in arms else ""


def _component(claim: Entry, screen: Screen, costs: Costs) -> Component:
    name, effect = _variant(claim), claim["effect"]
    assert effect is not None
    sign = 1 if claim["better"] == screen["better"] else -1
    sign *= 1 if claim["treatment"].get(FACTOR) == name else -1
    ends = claim["interval"]
    low, high = sorted(sign * end for end in ends) if ends else (0.0, 0.0)
    ratios = [_ratio(costs, name, metric) for metric in (TIME, MEMORY)]
    return Component(
        name=name,
        effect=sign * effect,
        interval=(low, high) if ends else None,
        shows=_shows_by_failures(claim, name) or _shows(claim, sign),
        costs=(ratios[0], ratios[1]),
    )


def _shows_by_failures(claim: Entry, name: str) -> str:
    """Return what the verdict on a claim shows about the variant `name`, if the rates of failed
    runs decide the claim; else "". The mean over the few runs that learned may have another sign.
    """
    if not claim.get("decided_by_failures") or claim["verdict"] == INCONCLUSIVE:
        return ""
    rates = {}
    for arm in (claim["treatment"], claim["baseline"]):
        failed = claim["failed_to_learn"][arm_label(claim["where"] | arm)]
        rates[str(arm.get(FACTOR))] = failed["runs"] / failed["of"]
    return WORSE if rates[name] > rates[BASELINE] else BETTER


def _shows(claim: Entry, sign: int) -> str:
    """Return what the verdict on a claim shows about a variant, as one of `SHOWS`.

    Args:
        claim: the claim with its verdict; the variant may be its treatment or its baseline.
        sign: 1 if a positive effect of the claim means that the variant is better than the baseline
            of the screen, else -1.
    """
    if claim["verdict"] == INCONCLUSIVE:
        return OPEN
    if claim["verdict"] == REFUTED:
        small, excluded = claim["grade"] == SMALL, sign  # the side where no large effect can be
    else:  # a claim that nothing is lost is also supported if the gain is large
        least = min(map(abs, claim["interval"] or [0.0]))
        small = kind_of(claim).controlled and at_most(least, claim["margin"])
        excluded = -1 if claim["kind"] == "equivalence" else -sign
    if small:
        return NOT_BETTER if excluded > 0 else NOT_WORSE
    return BETTER if sign * (claim["effect"] or 0.0) > 0 else WORSE


def _costs(evidence: Evidence) -> Costs:
    """Return the smallest value of each cost over the runs of an arm on the same processor. Other
    processes on the machine only make a run slower, so the fastest run is disturbed the least.

    Memory does not depend on the processor, so its processor is "" for all runs.
    """
    costs: Costs = {}
    for run in evidence.runs:
        for metric, where in ((TIME, run.get("processor", "")), (MEMORY, "")):
            if (value := run["metrics"].get(metric)) is not None:
                of_arm = costs.setdefault((str(run["levels"].get(FACTOR)), metric), {})
                of_arm[where] = min(value, of_arm.get(where, value))
    return costs


def _ratio(costs: Costs, name: str, metric: str) -> float | None:
    """Return a variant's cost, divided by that of the baseline on the same processor; None if
    there is no such processor.
    """
    variant, baseline = costs.get((name, metric), {}), costs.get((BASELINE, metric), {})
    ratios = [
        variant[where] / baseline[where]
        for where in variant.keys() & baseline.keys()
        if baseline[where]
    ]
    return statistics.median(ratios) if ratios else None
