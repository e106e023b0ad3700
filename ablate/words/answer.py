"""Write the headline and the line of evidence of a claim, and the limits of a verdict.

The headline is for a reader who knows no statistics: the answer, and the claim. The evidence has
the estimate, its interval, the runs and the margin.
"""

from typing import Any, cast

from ablate.config.labels import option_label
from ablate.evidence.types import Answer, Entry, Question, Verdict
from ablate.phrases import each_of, grouped, listed
from ablate.stats.ties import above
from ablate.verdict.decision import (
    DIRECTION,
    INCONCLUSIVE,
    OPPOSITE,
    SMALL,
    was_trained,
)
from ablate.words.effect import arm_names, effect_line
from ablate.words.exact import exact_line
from ablate.words.opening import opening_of
from ablate.words.reasons import failures, sentence

SMALL_OPPOSITE = "Refuted: the other way round, but too small to matter"
PERHAPS_OPPOSITE = "Refuted: if anything, the other way round"
DECIDED_BY_FAILURES = "This difference decides the claim"
UNDECIDED_BY_FAILURES = "These runs are too few to decide"


def with_words(verdict: Verdict) -> Verdict:
    """Return a verdict with the headline and the evidence of each claim, for readers of the file.

    If the runs were evaluated after two numbers of training steps, the result after the short
    number (key `short`) gets these texts, too.
    """
    return {**verdict, "claims": [_with_words(claim) for claim in verdict["claims"]]}


def _with_words(claim: Entry) -> Entry:
    entry: Any = {**claim, **_words(claim, claim)}
    if "short" in claim:
        entry["short"] = {**claim["short"], **_words(claim, claim["short"])}
    return cast(Entry, entry)


def _words(claim: Entry, answer: Answer) -> dict[str, str]:
    headline = f"{opening(claim, answer)}. {claim['statement']}"
    return {"headline": headline, "evidence": evidence_line(claim, answer)}


def opening(claim: Question, answer: Answer) -> str:
    """Return the answer to a claim in a few words, such as "Refuted: too small to matter".

    The text differs from that of `opening_of` in three cases:

    - The claim has no margin: then "but maybe small" is left out, because every effect counts.
    - The effect is in the opposite direction, but its whole interval lies within the margin.
    - The claim is refuted because the effect is too small, but its estimate is below minus the
      margin, or its whole interval is below 0.
    """
    grade, ends, margin = answer["grade"], answer["interval"], claim["margin"]
    opposite = ends is not None and (above(-margin, answer["effect"] or 0.0) or ends[1] < 0)
    if grade == SMALL and opposite:
        return PERHAPS_OPPOSITE
    if grade == OPPOSITE and ends is not None and above(ends[0], -margin):
        return SMALL_OPPOSITE
    if grade == DIRECTION and not margin:
        grade = ""
    return opening_of(claim["kind"], answer["verdict"], grade)


def evidence_line(claim: Entry, answer: Answer) -> str:
    """Return the line of evidence below a verdict: estimate, interval, runs and margin.

    For an undecided claim, the line says how many seeds would decide it. Settings by which the arms
    differ, and which their labels do not name, follow.

    Args:
        claim: the claim in verdict.json.
        answer: the same claim, or its result at the short budget of steps.
    """
    line = _evidence(claim, answer)
    also = (
        f"The runs with {arm} have {listed(settings)}."
        for arm, settings in claim.get("settings", {}).items()
    )
    # names in a table stay as they are written
    named = "design" in claim and claim["treatment"] and line.startswith(arm_names(claim)[0])
    return " ".join([line if named else line[:1].upper() + line[1:], *also])


def _evidence(claim: Entry, answer: Answer) -> str:
    failed = failures(answer.get("failed_to_learn", {}))
    if "problem" in answer:
        return " ".join(f"{text}." for text in (sentence(answer["problem"]), failed) if text)
    if answer.get("decided_by_failures"):
        open_ = answer["verdict"] == INCONCLUSIVE
        return f"{failed}. {UNDECIDED_BY_FAILURES if open_ else DECIDED_BY_FAILURES}."
    return (exact_line if claim["kind"] == "exact" else effect_line)(claim, answer)


def bounds(verdict: Verdict) -> str:
    """Return a sentence that limits a result to the size of the model, the corpus and the steps."""
    if "data" not in verdict["regime"]:
        corpus = verdict["regime"]["corpus"]
        return f"Computed from the runs in {corpus}. Other data and models may differ."
    if not was_trained(verdict):
        return "Computed without training; it holds for models of any quality."
    setting = verdict["regime"]
    sizes = [
        arm["metrics"]["parameters"]["mean"]
        for arm in verdict["arms"]
        if "parameters" in arm["metrics"]
    ]
    corpus = listed([option_label("data", name) for name in each_of(setting["data"])])
    size = f"{_parameters(sizes)} parameters" if sizes else "an unknown size"
    return (
        f"Measured with models of {size} on {corpus}, {grouped(setting['steps'])} steps. "
        "Larger models and other text may differ."
    )


def _parameters(sizes: list[float]) -> str:
    low, high = (f"{float(f'{size:.3g}'):,.0f}" for size in (min(sizes), max(sizes)))
    return low if low == high else f"{low} to {high}"
