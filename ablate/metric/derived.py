"""What follows from scores that were measured: how far above chance, and how far from training.

Equation: skill = (accuracy - chance) / (bound - chance), chance and bound those of the corpus;
    gap = what a metric is worse by on test than on train.
Source: Cohen 1960, doi:10.1177/001316446002000104 (agreement beyond chance); the generalisation gap
    of arXiv:1611.03530.
What differs: chance is that of the best guesser without the skill, whom the rule of the corpus
    describes; the bound need not be 1. Both splits are read without dropout, by the last weights.
What to expect: tokens that everybody knows, as EOS, count for nothing in skill, so 0 is a model
    that has learned nothing of the task and 1 one that solves it.
"""

from collections.abc import Iterable, Mapping

from ablate.metric.table import METRICS

GAPS = ("nll", "bleu", "accuracy")
DRAWN = {"train", "test"}  # splits that the levels of a corpus are those of


def derived(scores: Mapping[str, float], levels: Mapping[str, float]) -> dict[str, float]:
    """Return skills where the corpus has levels, and the gaps where train and test were tested.

    Args:
        scores: by split and name, as "test/nll".
        levels: of the corpus, as "chance/accuracy"; {} where nobody knows them.
    """
    found = {}
    if levels:
        chance, bound = (levels[f"{level}/accuracy"] for level in ("chance", "bound"))
        room = bound > chance  # random targets leave none for skill
        for split in _splits(scores, "accuracy") & DRAWN if room else ():
            found[f"{split}/skill"] = (scores[f"{split}/accuracy"] - chance) / (bound - chance)
    for name in GAPS:
        if {"train", "test"} <= _splits(scores, name):
            sign = 1 if METRICS[name].better == "higher" else -1
            found[f"gap/{name}"] = sign * (scores[f"train/{name}"] - scores[f"test/{name}"])
    return found


def derived_names(scores: Iterable[str]) -> set[str]:
    """Return the names of all that may follow from such scores."""
    ones = dict.fromkeys(scores, 0.0)
    return set(derived(ones, {"chance/accuracy": 0.0, "bound/accuracy": 1.0}))


def _splits(scores: Iterable[str], name: str) -> set[str]:
    return {split for split, _, last in (key.rpartition("/") for key in scores) if last == name}
