"""Write the details of an answer as named fields, for readers who want to check it.

An estimate is treatment minus baseline, in units of the metric, as in the line of evidence (the
summary above the details). An answer has only the fields that apply to its claim.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ablate.config.labels import arm_label, factor_label
from ablate.evidence.types import Levels
from ablate.phrases import grouped, listed, percent, probability
from ablate.record.label import value_text
from ablate.verdict.kinds import kind_of
from ablate.verdict.types import Entry
from ablate.words.answer import claim_metric, deviation, direction, graded, unit_of

Fields = Iterator[tuple[str, str]]
SCALES = {"linear": "per unit", "log": "per doubling", "log_log": "as an exponent"}
METHODS = {  # methods whose names need more words
    "skewed t": "t corrected for skewness",
    "moderated t": "t with the noise of all arms",
    "Barnard": "Barnard's exact test",
    "combinations": "t at chosen learning rates, jackknife over recipes",
    "none": "none: a single pair has no spread",
}


def details(claim: Entry, answer: Any) -> dict[str, str]:
    """Return the statistical details of a claim's result as text, by name, such as "Estimate",
    "Interval" and "Margin".

    Args:
        claim: the claim in verdict.json.
        answer: the same claim, or its result at the short budget of steps, if its runs were tested
            at two budgets.
    """
    parts = (_question, _estimate, _tests, _exact, _outlook)
    fields = (field for part in parts for field in part(claim, answer))
    return {name: value for name, value in fields if value}


def _question(claim: Entry, answer: Any) -> Fields:
    yield "Claim", claim["id"]
    yield "Kind", claim["kind"].replace("_", "-")
    yield "Answer", graded(answer["verdict"], answer["grade"])
    yield "Metric", claim_metric(claim).axis
    yield "Key of the metric", claim["metric"]
    yield "Treatment", _arm(claim["treatment"])
    yield "Baseline", f"{claim['target']:g}" if "target" in claim else _arm(claim["baseline"])
    yield "Both arms have", _arm(claim["where"])
    yield "Compared with the difference at", _arm(claim["minus"])
    if over := claim["over"]:
        yield "Slope over", f"{factor_label(over)} [{over}], {SCALES[claim['scale']]}"
    if "steps" in answer:
        yield "Optimiser steps", grouped(answer["steps"])


def _arm(levels: Levels) -> str:
    """Return the label of an arm with its overrides in brackets; "" without levels."""
    overrides = ", ".join(f"{factor}={value_text(level)}" for factor, level in levels.items())
    return f"{arm_label(levels)} [{overrides}]" if levels else ""


def _estimate(claim: Entry, answer: Any) -> Fields:
    alpha = claim["alpha"]
    if "cases" not in answer and answer["effect"] is not None:
        yield "Estimate", _range(claim, [answer["effect"]])
    levels = {"interval": 1 - alpha, "interval_equivalence": 1 - 2 * alpha}
    for key, name in (
        ("interval", "Interval"),
        ("interval_equivalence", "Interval for equivalence"),
    ):
        if ends := answer.get(key):
            yield name, f"{_range(claim, ends)} ({percent(levels[key])} %)"
    if claim["margin"] and claim["kind"] != "exact":
        yield "Margin", f"{claim['margin']:g}"


def _range(claim: Entry, effects: Sequence[float]) -> str:
    """Return an effect, or the ends of an interval, in units of the metric."""
    signed = sorted(direction(claim) * effect + 0.0 for effect in effects)
    return " to ".join(unit_of(claim).say(effect, sign=True) for effect in signed)


def _tests(claim: Entry, answer: Any) -> Fields:
    noise = f" over {listed(answer['noise'])}" if answer["noise"] else ""
    yield "Test", METHODS.get(answer["method"], answer["method"]) + noise
    for side in answer["p"]:
        yield f"p ({side}, Holm)", probability(answer["p_adjusted"].get(side))
    if shares := answer.get("information"):
        yield "Interim analyses", listed([f"{100 * share:.0f} %" for share in shares]) + " of seeds"
    if "counts" in answer:
        yield "Runs of each arm", listed(answer["counts"])
    elif answer["p"]:
        yield "Paired seeds", f"{answer['pairs']}"
    failed = answer.get("failed_to_learn", {}).items()
    yield "Failed to learn", "; ".join(f"{arm}: {n['runs']} of {n['of']}" for arm, n in failed)
    if (control := answer.get("control")) is not None:
        # JSON has no infinity, so the ends of an infinite interval are None there
        ends = [end for end in control["interval"] if end is not None and math.isfinite(end)]
        interval = f" ({_range(claim, ends)})" if ends else ""
        loses = "" if control["loses"] else "; it does not lose enough"
        effect = _range(claim, [control["effect"]])
        yield "Arm that must lose", f"{control['arm']}: {effect}{interval}{loses}"
    elif kind_of(claim).controlled:
        yield "Arm that must lose", "none in these runs, so their sensitivity is not shown"


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
    needed = ("Needed value", "margin") if claim["margin"] else ("Allowed deviation", "tolerance")
    yield needed[0], f"{dict(claim)[needed[1]]:g}"
    if left := cases["of"] - cases["counted"]:
        yield "Cases that do not count", f"{left}, since the check did not respond to a fault there"
    if cases["control"] is not None:
        yield "Deviation with a deliberate fault", f"{deviation(cases['control'])} at least"
    if "elsewhere" in cases:
        levels, distance = cases["elsewhere"]
        yield "Deviation in an arm that breaks the rule", f"{deviation(distance)}: {_arm(levels)}"


def _outlook(claim: Entry, answer: Any) -> Fields:
    unit, kind = unit_of(claim), kind_of(claim)
    if (least := answer["detectable"]) is not None:
        named = "margin" if kind.needs_margin else "effect"
        yield f"Smallest {named} that these runs show with 80 % power", unit.say(least)
    for side, plan in (answer["seeds_needed"] or {}).items():
        seeds = f"{plan['seeds']:,}" if plan["seeds"] else f"more than {kind.most_seeds:,}"
        true = f"assumed true effect: {unit.say(plan['effect'])}"
        yield f"Seeds that show it {side} with 80 % power", f"{seeds} ({true})"
    bands = [(graded(x["verdict"], x["grade"]), f"{x['from']:.4g}") for x in answer["sensitivity"]]
    if len(bands) > 1:  # else the answer is always the same
        rest = "".join(f"; {word} from {start} on" for word, start in bands[1:])
        exact = claim["kind"] == "exact" and not claim["margin"]
        alone = ", without Holm's correction" if "uncorrected" in answer else ""
        name = "Answer by tolerance" if exact else f"Answer by margin{alone}"
        yield name, f"{bands[0][0]} below {bands[1][1]}{rest}"
    if target := answer.get("time_to_target"):
        ends = [target["updates"], *(target["interval"] or ())]
        steps = ["more than the budget" if x is None else f"{x:,.0f}" for x in ends]
        interval = f", interval {' to '.join(steps[1:])}" if steps[1:] else ""
        arms = f"{arm_label(claim['baseline'])} against {arm_label(claim['treatment'])}"
        median = f"{steps[0]} (median of {len(target['seeds'])} seeds)"
        yield "Steps to equal validation loss", f"{median}{interval}; {arms}"
