"""Write the answer to a claim in a few words, without the numbers, and claims about tables."""

from collections.abc import Callable
from typing import Any

from ablate.evidence.types import Levels
from ablate.verdict.decision import (
    DIRECTION,
    INCONCLUSIVE,
    LARGE,
    OPPOSITE,
    REFUTED,
    SMALL,
    SUPPORTED,
    Decision,
)

UNDECIDED = "undecided"
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
STATEMENTS = {  # of claims about a table of runs
    "superiority": "{treatment} has a {better} {metric} than {baseline}",
    "equivalence": "{treatment} and {baseline} have the same {metric}",
    "non_inferiority": "{treatment} loses nothing that matters against {baseline}",
    "stability": "Fewer runs of {treatment} fail than of {baseline}",
    "exact": "{treatment} and {baseline} agree in every run",
    "trend": "{metric} {changes} with {over}",
    "difference": "The gain of {treatment} over {baseline} is larger with {here} than with {there}",
    "slopes": "The slope of {metric} over {over} is {better} with {here} than with {there}",
}


def opening_of(kind: str, verdict: str, grade: str) -> str:
    """Return the answer to a claim in a few words, from its kind, verdict and grade."""
    return OPENINGS_OF_KIND.get((kind, verdict)) or OPENINGS[verdict, grade]


def graded(status: str, grade: str) -> str:
    """Return a verdict with its grade, such as "supported, large enough to matter"."""
    return str(Decision(UNDECIDED if status == INCONCLUSIVE else status, grade))


def statement(claim: Any, label: Callable[[Levels], str]) -> str:
    """Return a claim as a sentence; `label` returns the name of an arm."""
    shape = claim["kind"]
    if claim["minus"]:
        shape = "slopes" if shape == "trend" else "difference"
    target = claim["target"]
    here = {key: level for key, level in claim["where"].items() if key in claim["minus"]}
    words = STATEMENTS[shape].format(
        treatment=label(claim["treatment"]),
        baseline=label(claim["baseline"]) if target is None else f"{target:g}",
        better=claim["better"],
        changes="falls" if claim["better"] == "lower" else "rises",
        metric=claim["measures"],
        over=claim["over"],
        here=label(here) or "all runs",
        there=label(claim["minus"]),
    )
    return f"{words}."
