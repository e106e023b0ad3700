"""Write the evidence on an exact claim: the worst value, the limit, and the control."""

from ablate.evidence.questions import shared_levels
from ablate.evidence.types import Answer, Claim
from ablate.verdict.contrast import CHANGED
from ablate.verdict.decision import (
    INCONCLUSIVE,
    SUPPORTED,
)
from ablate.verdict.wording.details import deviation, unit_of
from ablate.verdict.wording.effects import (
    BRIEF_HOLM,
    HOLM,
    WEAKER,
    arm_names,
    claim_metric,
    condition_text,
    interval_text,
)


def exact_evidence(claim: Claim, answer: Answer) -> list[str]:
    """Return the evidence on an exact claim in several wordings; the first is the longest.

    The evidence is the worst value that the claim restricts, with the number of cases, the limit,
    and the control (an arm or a deliberate fault with which the check must fail). If the claim is
    about trained models, the evidence is the mean over seeds.
    """
    cases = answer["cases"]
    if not cases["counted"]:
        why = "the deliberate fault did not change it" if cases["of"] else "nothing was measured"
        return [f"no case of {_measure(claim)} counts, since {why}."]
    condition = condition_text(claim["where"] | shared_levels(claim))
    names = [_measure(claim, arms=True), _measure(claim)]
    given = [f"with {condition}, {name}" if condition else name for name in names]
    if "holding" in cases:
        means = [_mean(claim, answer, brief=brief) for brief in (False, True)]
        return [f"{name} {mean}" for name in given for mean in means]
    each = " each" if cases["counted"] > 1 else ""
    draws = f"{cases['draws']:,} random draws{each}" if cases["draws"] else ""
    # a deviation of 0 is always allowed
    shortest = "" if answer["effect"] == 0 else _allowed(claim, brief=True)
    limits = [(draws, _allowed(claim)), ("", _allowed(claim)), ("", shortest)]
    worst = [_worst(claim, answer, drawn, allowed) for drawn, allowed in limits]
    control = _control(claim, answer)
    plain = [f"{name} {value}." for name in given for value in worst]
    if not control:
        return plain
    return [*(f"{name} {value}. {control}" for name in given + names for value in worst), *plain]


def _measure(claim: Claim, *, arms: bool = False) -> str:
    """Return the name of the value that an exact claim restricts.

    If `arms` is true and the value is a difference, the name also says which arms are compared.
    """
    name = claim.get("measures") or f"the metric {claim_metric(claim).name}"
    name_is_complete = not claim["treatment"] or claim["metric"].endswith(CHANGED)
    between = f" between {' and '.join(arm_names(claim))}" if arms else ""
    return name if name_is_complete else f"the difference in {name}{between}"


def _worst(claim: Claim, answer: Answer, drawn: str, allowed: str) -> str:
    """Return the worst value over the cases of an exact claim as a verb phrase.

    Args:
        claim: the exact claim.
        answer: its result.
        drawn: the number of random draws of each case, or "".
        allowed: the values that the claim allows.
    """
    cases, value = answer["cases"], deviation(answer["effect"]) or "NaN"
    counted, broken = cases["counted"], cases["broken"]
    if counted == 1:
        return f"was {value}{_notes(drawn, allowed)}"
    where = "both cases" if counted == 2 else f"all {counted} cases"
    if not broken:
        bound = f"at {'least' if claim['margin'] else 'most'} " if answer["effect"] else ""
        return f"was {bound}{value} in {where}{_notes(drawn, allowed)}"
    if broken < counted:
        where = f"{broken} of {counted} cases"
    if claim["margin"]:
        notes = _notes(f"as low as {value}", drawn)
        return f"was below the required {claim['margin']:g} in {where}{notes}"
    if claim["tolerance"]:
        notes = _notes(f"up to {value}", drawn)
        return f"was above the allowed {claim['tolerance']:g} in {where}{notes}"
    return f"differed from 0 in {where}{_notes(f'by up to {value}', drawn, allowed)}"


def _notes(*notes: str) -> str:
    """Return notes in brackets after a space; "" without notes."""
    words = [note for note in notes if note]
    return f" ({'; '.join(words)})" if words else ""


def _mean(claim: Claim, answer: Answer, *, brief: bool) -> str:
    """Return the evidence on an exact claim about trained models: the mean over seeds, with notes.

    The text starts with a verb, because the name of the measured value precedes it. If `brief`, the
    wording is shorter.
    """
    value, seeds, allowed = deviation(answer["effect"]), answer["pairs"], _allowed(claim)
    if answer["interval"] is None:
        line = f"was {value} in each of {seeds} seeds ({allowed})."
        if seeds == 1:
            line = f"was {value} with a single seed ({allowed})."
    else:
        ends = answer["interval_equivalence"]  # the interval of the two one-sided tests
        text = interval_text(ends, 1 - 2 * claim["alpha"], unit_of(claim), 1)
        notes = [text, *([] if brief else [f"{seeds} seeds"]), allowed]
        line = f"was {value} on average ({'; '.join(notes)})."
    if "uncorrected" in answer:
        return f"{line} {BRIEF_HOLM if brief else HOLM}, {WEAKER['']}."
    if answer["interval"] is None and answer["verdict"] == INCONCLUSIVE:
        return f"{line} These seeds are too few to decide."
    return line


def _allowed(claim: Claim, *, brief: bool = False) -> str:
    """Return a phrase for the values that an exact claim allows; without a verb if `brief`."""
    if claim["margin"]:
        size = f"{claim['margin']:g}"
        return f"minimum {size}" if brief else f"at least {size} is needed"
    if not claim["tolerance"]:
        return "it must be 0"
    size = f"{claim['tolerance']:g}"
    return f"limit {size}" if brief else f"at most {size} is allowed"


def _control(claim: Claim, answer: Answer) -> str:
    """Return a sentence with the evidence that the check of a supported claim could have failed.

    For a claim with a margin, the response to a deliberate fault is given only for comparison. The
    result is "" if the claim is not supported.
    """
    cases = answer["cases"]
    if answer["verdict"] != SUPPORTED:
        return ""
    if cases["control"] is not None:
        control = claim.get("control_measures") or claim["control"].replace("_", " ")
        opening = "For comparison," if claim["margin"] else "The check can fail:"
        return f"{opening} {control} gave at least {deviation(cases['control'])}."
    if "elsewhere" in cases:
        arm, distance = cases["elsewhere"]
        only = "only " if claim["margin"] else ""
        return f"The check can fail: with {arm}, it was {only}{deviation(distance)}."
    return "The study has no case in which this check must fail."
