"""Count a word.

Equation: y = the number of t with x_t = s0, t = 1 .. `length`; x_t uniform of `symbols` words.
Source: arXiv:1805.04908, section 3 (recurrent models differ in their ability to count).
What differs: the answer is the count of one word; two counts are not compared.
What to expect: no positions are needed: averaging attention computes frequencies, and the length is
    fixed. Chance: a predictor that knows the binomial distribution of counts. Bound: 0 nats.
"""

from dataclasses import dataclass
from math import comb, log
from typing import Annotated

from ablate.config.limits import Count as Size
from ablate.config.limits import Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, answer, named


@dataclass(kw_only=True)
class Count(Synthetic):
    """A corpus whose target is a single word: the number of times that s0, the first word of the
    alphabet, occurs in the source.

    Args:
        length: number of words in a source.
        symbols: number of different words.
    """

    length: Size
    symbols: Annotated[int, Range(2)]

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return a random source, and a target of one word: the number of times that s0, the first
        word of the alphabet, occurs in the source.
        """
        numbers = [choose(self.symbols) for _ in range(self.length)]
        return named("s", numbers), named("n", [numbers.count(0)])

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that ignores the source."""
        n, p = self.length, 1 / self.symbols
        share = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        return answer(-sum(q * log(q) for q in share if q), max(share))
