"""Write the evidence on an exact claim: the worst value, the limit, and the control."""

from ablate.config.labels import arm_label
from ablate.evidence.registration import shared_levels
from ablate.evidence.types import Answer, Entry
from ablate.phrases import in_sentence
from ablate.verdict.contrast import CHANGED
from ablate.verdict.decision import INCONCLUSIVE, SUPPORTED
from ablate.words.effect import (
    HOLM,
    WEAKER,
    arm_names,
    claim_metric,
    condition_text,
    interval_text,
    unit_of,
)

NO_CASE = {True: "the deliberate fault did not change it", False: "nothing was measured"}


def exact_line(claim: Entry, answer: Answer) -> str:
    """Return the evidence on an exact claim.

    It has the worst value that the claim restricts, with the number of cases, the limit, and the
    control (an arm or a deliberate fault with which the check must fail). If the claim is about
    trained models, the evidence is the mean over seeds.
    """
    cases = answer["cases"]
    if not cases["counted"]:
        return f"no case of {_measure(claim)} counts, since {NO_CASE[cases['of'] > 0]}."
    condition = condition_text(claim["where"] | shared_levels(claim))
    name = f"with {condition}, {_measure(claim)}" if condition else _measure(claim)
    if "holding" in cases:
        return f"{name} {_mean(claim, answer)}"
    return f"{name} {_worst(claim, answer)}. {_control(claim, answer)}".strip()


def deviation(value: float | None) -> str:
    """Return a deviation from 0 as text with three digits; "" if it is None.

    A large deviation is written as a whole number.
    """
    if value is None:
        return ""
    value += 0.0  # 0 in place of -0
    text = f"{value:,.0f}" if 999.5 <= abs(value) < 1e9 else f"{value:.3g}"
    return text.replace("nan", "NaN")


def _measure(claim: Entry) -> str:
    """Return the name of the value that an exact claim restricts; for a difference, with its
    arms.
    """
    name = claim.get("measures") or f"the metric {claim_metric(claim).name}"
    if not claim["treatment"] or claim["metric"].endswith(CHANGED):
        return name
    if "target" in claim:
        return f"the difference between {name} of {arm_names(claim)[0]} and {claim['target']:g}"
    return f"the difference in {name} between {' and '.join(arm_names(claim))}"


def _worst(claim: Entry, answer: Answer) -> str:
    """Return the worst value over the cases of an exact claim as a verb phrase."""
    cases, counted = answer["cases"], answer["cases"]["counted"]
    notes = _allowed(claim)
    if cases["draws"]:
        notes = f"{cases['draws']:,} random draws{' each' * (counted > 1)}; {notes}"
    value = deviation(answer["effect"]) or "NaN"
    if counted == 1:
        return f"was {value} ({notes})"
    if broken := cases["broken"]:
        verb = "fell to" if claim["margin"] else "reached"
        return f"{verb} {value}; {broken} of {counted} cases break the limit ({notes})"
    bound = f"at {'least' if claim['margin'] else 'most'} " if answer["effect"] else ""
    return f"was {bound}{value} in {f'all {counted}' if counted > 2 else 'both'} cases ({notes})"


def _mean(claim: Entry, answer: Answer) -> str:
    """Return the evidence on an exact claim about trained models: the mean over seeds, with notes.

    The text starts with a verb, because the name of the measured value precedes it.
    """
    value, seeds, allowed = deviation(answer["effect"]), answer["pairs"], _allowed(claim)
    if answer["interval"] is None:
        where = "with a single seed" if seeds == 1 else f"in each of {seeds} seeds"
        line = f"was {value} {where} ({allowed})."
    else:
        ends = answer["interval_equivalence"]  # the interval of the two one-sided tests
        text = interval_text(ends, 1 - 2 * claim["alpha"], unit_of(claim), 1)
        line = f"was {value} on average ({text}; {seeds} seeds; {allowed})."
    if "uncorrected" in answer:
        return f"{line} {HOLM}, {WEAKER['']}."
    if answer["interval"] is None and answer["verdict"] == INCONCLUSIVE:
        return f"{line} These seeds are too few to decide."
    return line


def _allowed(claim: Entry) -> str:
    """Return a phrase for the values that an exact claim allows."""
    if claim["margin"]:
        return f"at least {claim['margin']:g} is needed"
    return f"at most {claim['tolerance']:g} is allowed" if claim["tolerance"] else "it must be 0"


def _control(claim: Entry, answer: Answer) -> str:
    """Return a sentence with the evidence that the check of a supported claim could have failed.

    For a claim with a margin, the response to a deliberate fault is given only for comparison. The
    result is "" if the claim is not supported.
    """
    cases = answer["cases"]
    if answer["verdict"] != SUPPORTED:
        return ""
    if cases["control"] is not None:
        fault = claim.get("control_measures") or claim["fault"].replace("_", " ")
        opening = "For comparison," if claim["margin"] else "The check can fail:"
        return f"{opening} {fault} gave at least {deviation(cases['control'])}."
    if "elsewhere" in cases:
        levels, distance = cases["elsewhere"]
        only = "only " if claim["margin"] else ""
        arm = in_sentence(levels) or arm_label(levels)
        return f"The check can fail: with {arm}, it was {only}{deviation(distance)}."
    return "The study has no case in which this check must fail."
