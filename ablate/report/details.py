"""Write the details of an answer as named fields, for readers who want to check it.

An estimate is treatment minus baseline, in units of the metric, as in the line of evidence (the
summary above the details). An answer has only the fields that apply to its claim.
"""

import math
from collections.abc import Iterator
from typing import Any

from ablate.config.labels import arm_label, factor_label
from ablate.evidence.types import Entry, Failures, Levels
from ablate.metric.table import metric_of
from ablate.phrases import grouped, listed, percent, probability
from ablate.record.label import value_text
from ablate.verdict.kind import kind_of
from ablate.words.answer import claim_metric, deviation, direction, graded, unit_of

Fields = Iterator[tuple[str, str]]
SCALES = {"linear": "per unit", "log": "per doubling", "log_log": "as an exponent"}
INDEPENDENT = ("Welch", "contrast", "one sample")  # methods for runs that are not paired
METHODS = {
    "every case": "every case is checked",
    "t": "t over seeds",
    "skewed t": "t over seeds, corrected for their skewness",
    "moderated t": "t over seeds, with the noise of all arms of the study",
    "sign test": "sign test: all differences are exactly equal, so that t does not apply",
    "Barnard": "exact: Barnard's unconditional test (score statistic), inverted",
    "Welch": "Welch's t",
    "contrast": "t of a contrast, with Satterthwaite's degrees of freedom",
    "one sample": "t of one sample",
    **{f"corrected {name}": f"{name}, t corrected for skewness" for name in INDEPENDENT},
    "stated noise": "z, or t with the stated degrees of freedom",
    "least squares": "t of a least-squares slope",
    "combinations": "t at chosen learning rates, jackknife over recipes",
    "none": "none: a single pair has no spread",
}
SOURCES = {
    "sentences": "test sentences",
    "groups of sentences": "groups of test sentences",
    "prediction": "the runs of the prediction",
}


def details(claim: Entry, answer: Any) -> dict[str, str]:
    """Return the statistical details of a claim's result as text, by name, such as "Estimate",
    "Interval" and "Margin".

    Args:
        claim: the claim in verdict.json.
        answer: the same claim, or its result at the short budget of steps, if its runs were tested
            at two budgets.
    """
    parts = (_question, _estimate, _tests, _runs, _exact, _outlook, _budget)
    fields = (field for part in parts for field in part(claim, answer))
    return {name: value for name, value in fields if value}


def _question(claim: Entry, answer: Any) -> Fields:
    yield "Claim", claim["id"]
    yield "Kind", claim["kind"].replace("_", "-")
    yield "Answer", graded(answer["verdict"], answer["grade"])
    yield "Exploratory", "yes" if answer["exploratory"] else ""
    yield "Metric", claim_metric(claim).axis
    yield "Key of the metric", claim["metric"]
    directed = claim["kind"] not in ("equivalence", "exact")
    yield "Direction of the claim", claim["better"] if directed else ""
    yield "Treatment", _arm(claim["treatment"])
    yield "Baseline", _arm(claim["baseline"])
    yield "Compared with the number", f"{claim['target']:g}" if "target" in claim else ""
    yield "Both arms have", _arm(claim["where"])
    yield "Compared with the difference at", _arm(claim["minus"])
    if claim["over"]:
        over, scale = claim["over"], SCALES[claim["scale"]]
        yield "Slope over", f"{factor_label(over)} [{over}], {scale}"


def _arm(levels: Levels) -> str:
    """Return the label of an arm with its overrides in brackets; "" without levels."""
    overrides = ", ".join(f"{factor}={value_text(level)}" for factor, level in levels.items())
    return f"{arm_label(levels)} [{overrides}]" if levels else ""


def _estimate(claim: Entry, answer: Any) -> Fields:
    unit, alpha = unit_of(claim), claim["alpha"]
    if "cases" not in answer and answer["effect"] is not None:
        yield "Estimate", unit.say(direction(claim) * answer["effect"] + 0.0, sign=True)
    yield "Interval", _interval(claim, answer["interval"], 1 - alpha)
    narrow = answer.get("interval_equivalence")
    yield "Interval for equivalence", _interval(claim, narrow, 1 - 2 * alpha)
    if claim["margin"] and claim["kind"] != "exact":
        yield "Margin", f"{claim['margin']:g}"


def _interval(claim: Entry, ends: list[float] | None, level: float) -> str:
    if not ends:
        return ""
    low, high = sorted(direction(claim) * end for end in ends)
    say = unit_of(claim).say
    return f"{say(low, sign=True)} to {say(high, sign=True)} ({percent(level)} %)"


def _tests(_: Entry, answer: Any) -> Fields:
    units = [SOURCES.get(source, source) for source in answer["noise"]]
    squared = f" and t over {units[1]}, squared and added" if len(units) > 1 else ""
    yield "Test", METHODS[answer["method"]] + squared
    if answer["p"]:
        yield "Sources of error", listed(units)
    for side, p in answer["p"].items():
        yield f"p ({side}, one-sided)", probability(p)
        yield f"p ({side}, Holm)", probability(answer["p_adjusted"].get(side))
    if alone := answer.get("uncorrected"):
        yield "Answer without Holm's correction", graded(**_named(alone))
    if rate := answer.get("false_rate"):
        yield "False verdicts in simulations of such noise", f"up to {100 * rate:.1f} %"
    if shares := answer.get("information"):
        yield "Interim analyses", listed([f"{100 * share:.0f} %" for share in shares]) + " of seeds"


def _named(outcome: Any) -> dict[str, str]:
    return {"status": outcome["verdict"], "grade": outcome["grade"]}


def _runs(claim: Entry, answer: Any) -> Fields:
    if "counts" in answer:
        yield "Runs of each arm", listed(answer["counts"])
    elif answer["p"]:
        yield "Paired seeds", f"{answer['pairs']}"
    if sentences := answer.get("sentences"):
        yield "Test sentences", f"{sentences:,}"
    if "rates" in answer:
        first, second = (f"{count} of {of}" for count, of in answer["rates"])
        yield "Runs counted", f"{first} against {second}"
    yield "Failed to learn", _failures(answer.get("failed_to_learn", {}))
    yield "Runs that raised an error", str(answer["failed_runs"] or "")
    yield "Runs older than the registration", str(answer["older_cells"] or "")
    if (control := answer.get("control")) is not None:
        unit, sign = unit_of(claim), direction(claim)
        loss = f"{control['arm']}: {unit.say(sign * control['effect'], sign=True)}"
        # JSON has no infinity, so the ends of an infinite interval are None there
        finite = [end for end in control["interval"] if end is not None and math.isfinite(end)]
        if ends := sorted(sign * end for end in finite):
            loss += f" ({' to '.join(unit.say(end, sign=True) for end in ends)})"
        yield "Arm that must lose", loss + ("" if control["loses"] else "; it does not lose enough")
    elif kind_of(claim).controlled:
        yield "Arm that must lose", "none in these runs, so their sensitivity is not shown"


def _failures(counts: dict[str, Failures]) -> str:
    """Return how many runs of each arm failed to learn, with the exact interval of the rate."""
    rates: dict[str, list[str]] = {}
    for arm, count in counts.items():
        low, high = (f"{100 * end:.0f}" for end in count["interval"])
        rate = f"{count['runs']} of {count['of']} runs (90 % CI {low} to {high} %)"
        rates.setdefault(rate, []).append(arm)
    if len(rates) == 1:
        return f"{next(iter(rates))} in each arm"
    return "; ".join(f"{rate} of {arm}" for rate, arms in rates.items() for arm in arms)


def _exact(claim: Entry, answer: Any) -> Fields:
    if (cases := answer.get("cases")) is None:
        return
    worst = deviation(answer["effect"]) if cases["counted"] else ""
    if "holding" in cases:
        yield "Seeds that hold", f"{cases['holding']} of {answer['pairs']}"
        yield "Mean deviation", worst
    else:
        yield "Cases that hold", f"{cases['counted'] - cases['broken']} of {cases['counted']}"
        yield "Smallest value" if claim["margin"] else "Largest deviation", worst
    if claim["margin"]:
        yield "Needed value", f"{claim['margin']:g}"
    else:
        yield "Allowed deviation", f"{claim['tolerance']:g}"
    if left := cases["of"] - cases["counted"]:
        yield "Cases that do not count", f"{left}, since the check did not respond to a fault there"
    yield "Random draws behind each case", f"{cases['draws']:,}" if cases["draws"] else ""
    if cases["control"] is not None:
        fault = claim.get("control_measures") or claim["fault"]
        least = deviation(cases["control"])
        yield "Deviation with a deliberate fault", f"{least} at least: {fault}"
    if "elsewhere" in cases:
        levels, distance = cases["elsewhere"]
        shown = f"{deviation(distance)}: {arm_label(levels)}"
        yield "Deviation in an arm that breaks the rule", shown


def _outlook(claim: Entry, answer: Any) -> Fields:
    unit = unit_of(claim)
    if (least := answer["detectable"]) is not None:
        named = "margin" if kind_of(claim).needs_margin else "effect"
        yield f"Smallest {named} that these runs show with 80 % power", unit.say(least)
    for side, plan in (answer["seeds_needed"] or {}).items():
        seeds = (
            f"{plan['seeds']:,}" if plan["seeds"] else f"more than {kind_of(claim).most_seeds:,}"
        )
        true = f"assumed true effect: {unit.say(plan['effect'])}"
        yield f"Seeds that show it {side} with 80 % power", f"{seeds} ({true})"
    exact = claim["kind"] == "exact" and not claim["margin"]
    alone = ", without Holm's correction" if "uncorrected" in answer else ""
    yield "Answer by tolerance" if exact else f"Answer by margin{alone}", _bands(answer)


def _bands(answer: Any) -> str:
    """Return the answer at other margins, as text; "" if the answer is always the same."""
    bands = [
        (graded(band["verdict"], band["grade"]), band["from"]) for band in answer["sensitivity"]
    ]
    if len(bands) < 2:
        return ""
    rest = [f"{word} from {start:.4g} on" for word, start in bands[1:]]
    return "; ".join([f"{bands[0][0]} below {bands[1][1]:.4g}", *rest])


def _budget(claim: Entry, answer: Any) -> Fields:
    if "steps" in answer:
        yield "Optimiser steps", grouped(answer["steps"])
    if gains := answer.get("learning", {}).get("gains"):
        unit, still = metric_of(answer["learning"]["metric"]), answer["learning"]["still"]
        changes = [f"{arm} {unit.say(gain, sign=True)}" for arm, gain in gains.items()]
        yield f"Gain of {unit.name} in the last quarter of training", "; ".join(changes)
        yield "Arms that were still learning", "; ".join(still)
    if target := answer.get("time_to_target"):
        treatment, baseline = (arm_label(claim[arm]) for arm in ("treatment", "baseline"))
        ends = " to ".join(map(_steps, target["interval"] or []))
        median = f"{_steps(target['updates'])} (median of {len(target['seeds'])} seeds)"
        steps = f"{median}, interval {ends}" if ends else median
        yield "Steps to equal validation loss", f"{steps}; {baseline} against {treatment}"


def _steps(steps: float | None) -> str:
    return "more than the budget" if steps is None else f"{steps:,.0f}"
