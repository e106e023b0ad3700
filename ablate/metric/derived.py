"""Derived metrics: skill above chance, and the gap between train and test.

Equation: skill = (accuracy - chance) / (bound - chance), with chance and bound of the corpus; gap =
    difference by which a metric is worse on test than on train.
Source: Cohen 1960, doi:10.1177/001316446002000104 (agreement beyond chance); the generalisation gap
    of arXiv:1611.03530.
What differs: chance is the best score without the skill, as the corpus defines it; the bound may be
    below 1. Both splits are evaluated without dropout, with the last weights.
What to expect: trivially predictable tokens such as EOS do not contribute to skill: 0 means that
    nothing was learned, 1 that the task is solved.
"""

from collections.abc import Iterable, Mapping

from ablate.metric.table import METRICS

GAPS = ("nll", "bleu", "accuracy")
DRAWN = {"train", "test"}  # splits to which the theoretical values of a corpus apply


def derived(scores: Mapping[str, float], levels: Mapping[str, float]) -> dict[str, float]:
    """Return skills if the corpus has theoretical values, and gaps if train and test were
    evaluated.

    Args:
        scores: by split and name, such as "test/nll".
        levels: theoretical values of the corpus, such as "chance/accuracy"; {} if unknown.
    """
    metrics = {}
    if levels:
        chance, bound = (levels[f"{level}/accuracy"] for level in ("chance", "bound"))
        room = bound > chance  # false for random targets, on which no skill is possible
        for split in _splits(scores, "accuracy") & DRAWN if room else ():
            metrics[f"{split}/skill"] = (scores[f"{split}/accuracy"] - chance) / (bound - chance)
    for name in GAPS:
        if {"train", "test"} <= _splits(scores, name):
            sign = 1 if METRICS[name].better == "higher" else -1
            metrics[f"gap/{name}"] = sign * (scores[f"train/{name}"] - scores[f"test/{name}"])
    return metrics


def derived_names(scores: Iterable[str]) -> set[str]:
    """Return the names of all metrics that can be derived from these scores."""
    ones = dict.fromkeys(scores, 0.0)
    return set(derived(ones, {"chance/accuracy": 0.0, "bound/accuracy": 1.0}))


def _splits(scores: Iterable[str], name: str) -> set[str]:
    return {split for split, _, last in (key.rpartition("/") for key in scores) if last == name}
