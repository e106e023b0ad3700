"""Word choice and word order of translations, scored separately.

Equation: F1 = 2 m / (h + r), m the words that hypothesis and reference share, each as often as in
    both, h and r their words; of stems the same, words without their last two letters.
    order = (c - d) / (c + d), Kendall's tau, over all pairs of words that both sentences have
    exactly once: c stand the same way round in both, d do not.
Source: Kendall 1938, doi:10.1093/biomet/30.1-2.81; on reorderings of translations: Birch and
    Osborne 2010, ACL W10-1749.
What differs: counts are summed over all sentences, so that long ones count for more. Words are
    what stands between spaces, letter case kept. A stem is no linguist's: it takes the endings off
    the words of data=toy.
What to expect: a bag of the right words has F1 1 and an order of about 0. Where few words are
    right, order says little.
"""

from collections import Counter
from collections.abc import Callable
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torchmetrics import Metric

ENDING = 2  # letters of gender, number and case in Sodak

Words = list[str]
Counts = tuple[int, int]  # a numerator and its denominator


def shared(one: Words, other: Words) -> Counts:
    """Return twice the words that both have, and the words of both."""
    return 2 * (Counter(one) & Counter(other)).total(), len(one) + len(other)


def shared_stems(one: Words, other: Words) -> Counts:
    """Return the same of words without their endings."""
    return shared([word[:-ENDING] for word in one], [word[:-ENDING] for word in other])


def order(one: Words, other: Words) -> Counts:
    """Return by how many the pairs in the same order exceed the others, and all pairs."""
    there = {word: place for place, word in enumerate(other) if other.count(word) == 1}
    places = [there[word] for word in one if word in there and one.count(word) == 1]
    pairs = [1 if first < second else -1 for first, second in combinations(places, 2)]
    return sum(pairs), len(pairs)


class WordScore(Metric):
    """A ratio of counts over all sentences seen so far, the same on any number of devices.

    Args:
        count: what is counted in the words of a hypothesis and of its reference.
    """

    full_state_update = False
    higher_is_better = True
    signature = "words between spaces, case:mixed"
    sums: Tensor

    def __init__(self, count: Callable[[Words, Words], Counts]) -> None:
        super().__init__()
        self.count = count
        self.add_state("sums", torch.zeros(2, dtype=torch.int64), dist_reduce_fx="sum")

    def statistics(self, hypotheses: list[str], references: list[str]) -> Int[np.ndarray, "n 2"]:
        """Return the counts of every sentence.

        Raises:
            ValueError: there are not as many references as hypotheses.
        """
        pairs = zip(hypotheses, references, strict=True)
        rows = [self.count(one.split(), other.split()) for one, other in pairs]
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    def update(self, rows: Int[np.ndarray, "n 2"]) -> None:
        """Add the `statistics` of sentences."""
        self.sums += torch.from_numpy(rows.sum(0)).to(self.sums.device)

    def compute(self) -> Float[Tensor, ""]:
        """Return the ratio as float64, 0 where nothing was counted."""
        above, below = self.sums.double()
        return above / below if below else above
