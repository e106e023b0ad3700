"""Compute metrics from other metrics: skill above chance, and the gap between train and test.

Equation: skill = (accuracy - chance) / (bound - chance), where chance and bound are the accuracies
    of guessing and of a perfect model on the corpus. gap = the difference by which a metric is
    worse on test than on train.
Source: Cohen 1960, doi:10.1177/001316446002000104 (agreement beyond chance); the generalisation gap
    of arXiv:1611.03530.
What differs: chance is the best accuracy of a model that has not learned the task, as the corpus
    defines it. The bound may be below 1. Both splits are evaluated without dropout, with the last
    weights.
What to expect: tokens that are trivial to predict, such as EOS, do not contribute to skill. A skill
    of 0 means that nothing was learned, and 1 that the task is solved.
"""

from collections.abc import Iterable, Mapping

from ablate.metric.table import METRICS

GAPS = ("nll", "bleu", "accuracy")
DRAWN = {"train", "test"}  # splits to which the theoretical values of a corpus apply


def derived(scores: Mapping[str, float], levels: Mapping[str, float]) -> dict[str, float]:
    """Return derived metrics by name, such as "test/skill" and "gap/nll".

    Skill needs the theoretical values of the corpus. A gap needs the metric on both train and test.

    Args:
        scores: values by split and metric, such as "test/nll".
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
    """Return the names of all metrics that `derived` can compute from scores with these names."""
    ones = dict.fromkeys(scores, 0.0)
    return set(derived(ones, {"chance/accuracy": 0.0, "bound/accuracy": 1.0}))


def _splits(scores: Iterable[str], name: str) -> set[str]:
    return {split for split, _, last in (key.rpartition("/") for key in scores) if last == name}
