"""Simulate two kinds of noise with which paired differences can give too many false verdicts.

The true effect is 0, so every verdict that one arm is better is false.
  grouped sentences  25 documents of 20 sentences, which are correlated within a document
  tuned arms         two identical arms whose learning rates are chosen by screening runs
"""

import numpy as np
from jaxtyping import Float

from ablate.evidence.folder import by_group
from ablate.stats.estimate import Estimate, estimate

ALPHA = 0.05
DOCUMENTS, SENTENCES = 25, 20
CORRELATIONS = (0.1, 0.3)  # between sentences of the same document
APART = (0.5, 1.0, 2.0)  # true differences in BLEU between neighbouring learning rates
OF_SEED, OF_SENTENCE, OF_REST = 0.3, 10.0, 10.0  # standard deviations of sentence contributions
Marks = dict[str, float]
Seeds = Float[np.ndarray, "sweeps seeds"]


def stress(sweeps: int, seeds: list[int]) -> dict[tuple[str, int], Marks]:
    """Return the rates of false verdicts, by kind of noise and number of seeds.

    Numbers of seeds up to 3 are left out.
    """
    rows = {}
    for n in (n for n in seeds if n > 3):
        for rho in CORRELATIONS:
            rows[f"{rho:g}", n] = of_groups(rho, n, sweeps, np.random.default_rng([1, n]))
        for apart in APART:
            rows[f"{apart:g} BLEU apart", n] = of_tuning(
                apart, n, sweeps, np.random.default_rng([2, n])
            )
    return rows


def false_difference(plus: Seeds, minus: Seeds) -> float:
    """Return the proportion of sweeps in which two equal arms are called different."""
    pairs = zip(plus, minus, strict=True)
    ends = np.array(
        [estimate(plus - other, added=plus).interval(1 - ALPHA) for plus, other in pairs]
    )
    return float(((ends[:, 0] > 0) | (ends[:, 1] < 0)).mean())


def of_groups(correlation: float, seeds: int, sweeps: int, rng: np.random.Generator) -> Marks:
    """Return the proportion of intervals that miss the true effect 0, for grouped sentences.

    Returns:
        documents named: proportion if the documents are the units of the analysis.
        not named: proportion if the sentences are treated as independent.
    """
    groups = np.repeat(np.arange(DOCUMENTS), SENTENCES)
    missed = {"documents named": 0, "not named": 0}
    for _ in range(sweeps):
        parts = documents(correlation, seeds, rng)
        grouped = by_group(parts, groups)
        missed["documents named"] += _misses(estimate(grouped.mean(1), grouped))
        missed["not named"] += _misses(estimate(parts.mean(1), parts))
    return {name: count / sweeps for name, count in missed.items()}


def documents(
    correlation: float, seeds: int, rng: np.random.Generator
) -> Float[np.ndarray, "seeds sentences"]:
    """Return contributions of sentences, document by document.

    `correlation` is the correlation between the effects of two sentences of a document.
    """
    shared = rng.standard_normal(DOCUMENTS).repeat(SENTENCES) * correlation**0.5
    independent = rng.standard_normal(DOCUMENTS * SENTENCES) * (1 - correlation) ** 0.5
    rest = rng.standard_normal((seeds, len(independent))) * OF_REST
    return rng.standard_normal((seeds, 1)) * OF_SEED + OF_SENTENCE * (shared + independent) + rest


def _misses(effect: Estimate) -> bool:
    low, high = effect.interval(1 - ALPHA)
    return not low <= 0 <= high


def of_tuning(apart: float, seeds: int, sweeps: int, rng: np.random.Generator) -> Marks:
    """Return how often two identical, tuned arms are called different, as proportions of sweeps.

    Each arm is tuned over three learning rates, whose true scores are `apart` BLEU from each other.
    The standard deviation between seeds is 1 BLEU.

    Returns:
        an arm chooses: each arm chooses one rate by the mean of two screening runs.
        a replicate chooses: each seed of an arm chooses its rate by one separate screening run.
    """
    rates = -apart * np.arange(3.0)
    once = rates + rng.standard_normal((2, sweeps, 1, 3)) * 0.5**0.5
    each = rates + rng.standard_normal((2, sweeps, seeds, 3))
    final = rng.standard_normal((2, sweeps, seeds))
    rows = {}
    for name, screened in (("an arm chooses", once), ("a replicate chooses", each)):
        plus, other = rates[screened.argmax(-1)] + final
        rows[name] = false_difference(plus, other)
    return rows
