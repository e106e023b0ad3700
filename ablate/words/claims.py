"""Write the sentence of a claim about a table of runs, if the question does not state it."""

from collections.abc import Callable
from typing import Any

from ablate.evidence.types import Levels

CLAIMS = {
    "superiority": "{treatment} has a {better} {metric} than {baseline}",
    "equivalence": "{treatment} and {baseline} have the same {metric}",
    "non_inferiority": "{treatment} loses nothing that matters against {baseline}",
    "stability": "Fewer runs of {treatment} fail than of {baseline}",
    "exact": "{treatment} and {baseline} agree in every run",
    "trend": "{metric} {changes} with {over}",
    "difference": "The gain of {treatment} over {baseline} is larger with {here} than with {there}",
    "slopes": "The slope of {metric} over {over} is {better} with {here} than with {there}",
}


def statement(claim: Any, label: Callable[[Levels], str]) -> str:
    """Return a claim as a sentence; `label` returns the name of an arm."""
    shape = claim["kind"]
    if claim["minus"]:
        shape = "slopes" if shape == "trend" else "difference"
    target = claim["target"]
    here = {key: level for key, level in claim["where"].items() if key in claim["minus"]}
    words = CLAIMS[shape].format(
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
