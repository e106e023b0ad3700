"""Collect the data for the figure of a screen (a baseline and many variants): effect, time and
memory of each variant.
"""

import statistics
from dataclasses import dataclass

from ablate.config.labels import arm_label
from ablate.config.screen import BASELINE, FACTOR
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Entry, Screen, Verdict
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SMALL
from ablate.verdict.kind import kind_of

TIME, MEMORY = "measure/microseconds", "measure/bytes"  # metrics of ablate.measure.training_cost


BETTER, WORSE, OPEN = "better", "worse", "undecided"
NOT_WORSE = f"at most the margin {WORSE}, or {BETTER}"
NOT_BETTER = f"at most the margin {BETTER}, or {WORSE}"
SHOWS = (BETTER, WORSE, NOT_WORSE, NOT_BETTER, OPEN)


# the smallest value of each cost, by arm and metric, and by processor
Costs = dict[tuple[str, str], dict[str, float]]


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
        small = kind_of(claim).controlled and least <= claim["margin"]
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
