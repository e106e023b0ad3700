"""Write the first two layers of an answer to a claim: a headline, and one line of evidence.

The headline is for a reader who knows no statistics: the answer, and the claim. The evidence has
the estimate, its interval, the runs and the margin. The third layer, the details with every field,
is written when a page is made (ablate.verdict.wording.details). All layers are written from the
data of a final verdict.
"""

import re
from typing import cast

from ablate.config.labels import option_label
from ablate.evidence.types import Answer, Claim, Entry, Question, Short, Verdict
from ablate.phrases import grouped, listed
from ablate.stats.ties import above
from ablate.verdict.decision import (
    DIRECTION,
    INCONCLUSIVE,
    LARGE,
    OPPOSITE,
    REFUTED,
    SMALL,
    SUPPORTED,
    was_trained,
)
from ablate.verdict.wording.effects import effect_evidence, failures
from ablate.verdict.wording.exact import exact_evidence

EVIDENCE = 40  # largest number of words of the evidence; everything else is in the details
OPENINGS = {
    (SUPPORTED, ""): "Supported",
    (SUPPORTED, LARGE): "Supported",
    (SUPPORTED, DIRECTION): "Supported, but maybe small",
    (REFUTED, ""): "Refuted",
    (REFUTED, SMALL): "Refuted: too small to matter",
    (REFUTED, OPPOSITE): "Refuted: it is the other way round",
    (INCONCLUSIVE, ""): "Undecided",
}
OPENINGS_OF_KIND = {
    ("equivalence", SUPPORTED): "Supported: no difference that matters",
    ("equivalence", REFUTED): "Refuted: there is a difference",
    ("non_inferiority", SUPPORTED): "Supported: not worse by an amount that matters",
    ("non_inferiority", REFUTED): "Refuted: worse by an amount that matters",
}
SMALL_OPPOSITE = "Refuted: the other way round, but too small to matter"
PERHAPS_OPPOSITE = "Refuted: if anything, the other way round"


def opening(claim: Question, answer: Answer | Entry | Short) -> str:
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


def opening_of(kind: str, verdict: str, grade: str) -> str:
    """Return the answer to a claim in a few words, from its kind, verdict and grade."""
    return OPENINGS_OF_KIND.get((kind, verdict)) or OPENINGS[verdict, grade]


def bounds(verdict: Verdict) -> str:
    """Return a sentence that limits a result to the size of the model, the corpus and the steps."""
    regime = verdict["regime"]
    sizes = [
        arm["metrics"]["parameters"]["mean"]
        for arm in verdict["arms"]
        if "parameters" in arm["metrics"]
    ]
    names = re.split(", | and ", str(regime["data"]))
    corpus = listed([option_label("data", name) for name in names])
    if not was_trained(verdict):
        return "Computed without training; it holds for models of any quality."
    size = f"{_parameters(sizes)} parameters" if sizes else "an unknown size"
    return (
        f"Measured with models of {size} on {corpus}, {grouped(regime['steps'])} steps. "
        "Larger models and other text may differ."
    )


def _parameters(sizes: list[float]) -> str:
    low, high = (f"{float(f'{size:.3g}'):,.0f}" for size in (min(sizes), max(sizes)))
    return low if low == high else f"{low} to {high}"


def evidence(claim: Claim, answer: Answer) -> str:
    """Return the line of evidence below a verdict: estimate, interval, runs and margin.

    For an undecided claim, the line says how many seeds would decide it. Of several wordings, the
    first that is short enough is taken.
    """
    lines = [f"{words[:1].upper()}{words[1:]}" for words in _evidence(claim, answer)]
    return next((line for line in lines if len(line.split()) <= EVIDENCE), lines[-1])


def _evidence(claim: Claim, answer: Answer) -> list[str]:
    """Return the evidence in several wordings; the first has the most information."""
    failed = failures(claim, answer)
    if problem := answer.get("problem"):
        return [f"{problem}. {failed}.", f"{problem}."] if failed else [f"{problem}."]
    if answer.get("decided_by_failures"):
        decides = answer["verdict"] != INCONCLUSIVE
        end = "This difference decides the claim" if decides else "These runs are too few to decide"
        return [f"{failed}. {end}."]
    if claim["kind"] == "exact":
        return exact_evidence(claim, answer)
    return effect_evidence(claim, answer)


def with_layers(claim: Claim, entry: Entry) -> Entry:
    """Return a claim of verdict.json with headline and evidence.

    If the runs were evaluated after two numbers of training steps, the result after the short
    number (key `short`) gets these texts, too.
    """
    if "short" in entry:
        entry = cast(Entry, entry | {"short": entry["short"] | _layers(claim, entry["short"])})
    return cast(Entry, entry | _layers(claim, entry))


def _layers(claim: Claim, answer: Answer) -> dict[str, object]:
    return {
        "headline": f"{opening(claim, answer)}. {claim['statement']}",
        "evidence": evidence(claim, answer),
    }
