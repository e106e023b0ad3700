"""Score word choice and word order of translations separately.

Equation: F1 = 2 m / (h + r), with m common words (counted with multiplicity) and h and r words in
    hypothesis and reference; F1 of stems is the same for words without their last two letters.
    order = (c - d) / (c + d), Kendall's tau, over all pairs of words that occur exactly once in
    both sentences: c pairs have the same order in both sentences, and d pairs have not.
Source: Kendall 1938, doi:10.1093/biomet/30.1-2.81; on reorderings of translations: Birch and
    Osborne 2010, ACL W10-1749.
What differs: counts are summed over all sentences, so longer ones weigh more. Words are separated
    by spaces, and letter case matters. Stems are not linguistic: words of data=toy have endings of
    two letters, and a stem is the word without its ending.
What to expect: a translation with the right words in random order has F1 = 1 and order = 0. If few
    words are right, the order is not informative.
"""

from collections import Counter
from collections.abc import Callable
from itertools import combinations

import numpy as np
from jaxtyping import Int

from ablate.metric.corpus_score import CorpusScore

ENDING = 2  # letters of gender, number and case in Sodak

Words = list[str]
Counts = tuple[int, int]  # numerator and denominator


def shared(hypothesis: Words, other: Words) -> Counts:
    """Return twice the number of common words, and the number of words of both sentences."""
    return 2 * (Counter(hypothesis) & Counter(other)).total(), len(hypothesis) + len(other)


def shared_stems(hypothesis: Words, other: Words) -> Counts:
    """Return the counts of `shared` for words without their last two letters."""
    return shared([word[:-ENDING] for word in hypothesis], [word[:-ENDING] for word in other])


def order(hypothesis: Words, other: Words) -> Counts:
    """Return two counts of word pairs for Kendall's tau of word order.

    A pair has two words that occur exactly once in both sentences. The first count is the number of
    pairs in the same order minus the number in opposite order, the second the number of pairs.
    """
    there = {word: place for place, word in enumerate(other) if other.count(word) == 1}
    places = [there[word] for word in hypothesis if word in there and hypothesis.count(word) == 1]
    pairs = [1 if first < second else -1 for first, second in combinations(places, 2)]
    return sum(pairs), len(pairs)


class WordScore(CorpusScore):
    """A ratio of counts, summed over all sentences added so far, equal for any number of devices.

    Args:
        count: returns the numerator and the denominator for the words of a hypothesis and of its
            reference.
    """

    signature = "words between spaces, case:mixed"

    def __init__(self, count: Callable[[Words, Words], Counts]) -> None:
        super().__init__(2)
        self.count = count

    def row(self, hypothesis: str, reference: str) -> list[int]:
        """Return the numerator and the denominator of a sentence."""
        return [*self.count(hypothesis.split(), reference.split())]

    def score(self, sums: Int[np.ndarray, "2"]) -> float:
        """Return the sum of all numerators divided by the sum of all denominators; 0 if the
        denominators sum to 0.
        """
        above, below = sums.tolist()
        return above / below if below else 0.0
