"""Compare the variants of a screen (a study that compares many variants with one baseline)."""

import statistics
from typing import NamedTuple

from ablate.config.labels import arm_label, spelled
from ablate.config.screen import BASELINE, FACTOR
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Screen
from ablate.report.forest import Row
from ablate.report.marks import ARM_COLOURS, MARKS
from ablate.stats.ties import at_most
from ablate.verdict.kinds import kind_of
from ablate.verdict.types import INCONCLUSIVE, REFUTED, SMALL, Entry, Verdict

TIME, MEMORY = "measure/microseconds", "measure/bytes"  # metrics of ablate.measure.training_cost
BETTER, WORSE, OPEN = "better", "worse", "undecided"
NOT_WORSE = f"at most the margin {WORSE}, or {BETTER}"
NOT_BETTER = f"at most the margin {BETTER}, or {WORSE}"
# colour, marker and short name for each value of `Component.shows`
LOOKS = {
    BETTER: (MARKS["supported"].colour, "o", BETTER),
    NOT_WORSE: (ARM_COLOURS[0], "^", "not worse"),
    OPEN: (MARKS["inconclusive"].colour, "D", OPEN),
    NOT_BETTER: (ARM_COLOURS[0], "v", "not better"),
    WORSE: (MARKS["refuted"].colour, "s", WORSE),
}


class Component(NamedTuple):
    """A variant of a screen, compared with the baseline.

    `shows` says what the verdict shows about the variant, such as `BETTER`. `effect` and
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
    claims = [claim for claim in verdict["claims"] if screened(claim, screen)]
    rows = [_component(claim, screen, evidence) for claim in claims if screen]
    return sorted(rows, key=lambda row: -row.effect)


def screened(claim: Entry, screen: Screen | None) -> bool:
    """Return whether a claim with an effect compares a variant of a screen with the baseline by the
    metric of the screen.
    """
    compared = screen is not None and claim["metric"] == screen["metric"]
    return compared and claim["effect"] is not None and bool(_variant(claim))


def _variant(claim: Entry) -> str:
    """Return the variant that a claim compares with the baseline; "" if the claim compares other
    arms.
    """
    arms = {str(levels.get(FACTOR)) for levels in (claim["treatment"], claim["baseline"])}
    variants = arms - {BASELINE}
    return variants.pop() if len(variants) == 1 and BASELINE in arms else ""


def _component(claim: Entry, screen: Screen, evidence: Evidence) -> Component:
    name, effect = _variant(claim), claim["effect"]
    assert effect is not None
    sign = 1 if claim["better"] == screen["better"] else -1
    sign *= 1 if claim["treatment"].get(FACTOR) == name else -1
    low, high = sorted(sign * end for end in claim["interval"] or (0.0, 0.0))
    return Component(
        name=name,
        effect=sign * effect,
        interval=(low, high) if claim["interval"] else None,
        shows=_shows_by_failures(claim, name) or _shows(claim, sign),
        costs=(_cost(evidence, name, TIME), _cost(evidence, name, MEMORY)),
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
    """Return what the verdict on a claim shows about a variant, such as `BETTER`.

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


def _cost(evidence: Evidence, name: str, metric: str) -> float | None:
    """Return a variant's cost, divided by that of the baseline; None if it was not measured.

    The cost of an arm is the smallest of its runs, because other processes on the machine only make
    a run slower. Times are compared on the same processor only.
    """
    costs: dict[tuple[str, str], float] = {}
    for run in evidence.runs:
        if (cost := run["metrics"].get(metric)) is not None:
            where = run.get("processor", "") if metric == TIME else ""
            place = (str(run["levels"].get(FACTOR)), where)
            costs[place] = min(cost, costs.get(place, cost))
    ratios = [
        cost / baseline
        for (arm, where), cost in costs.items()
        if arm == name and (baseline := costs.get((BASELINE, where)))
    ]
    return statistics.median(ratios) if ratios else None


def row_of(variant: Component) -> Row:
    """Return the row of a variant in a forest plot, with its costs on the right."""
    colour, marker, word = LOOKS[variant.shows]
    costs = ["-" if ratio is None else f"{ratio:.2f}" for ratio in variant.costs]
    word = f"{word}; {', '.join(costs)}" if any(variant.costs) else word
    ends = variant.interval or ()
    return Row(spelled(variant.name), variant.effect, ends, colour, marker, word=word)
