"""Count a word.

Equation: y = the number of t with x_t = s0, t = 1 .. `length`; x_t uniform of `symbols` words.
Source: arXiv:1805.04908, section 3 (counting, which recurrent models differ in).
What differs: one word is counted, once, rather than compared with another count.
What to expect: no positions are needed; attention that averages sees shares, and the length is
    always the same. Chance is who knows the binomial distribution of counts. Bound: 0 nats.
"""

from dataclasses import dataclass
from math import comb, log
from typing import Annotated

from ablate.claims.corpus.rule import Choose, Level, Synthetic, Words, answer, named
from ablate.config.limits import Count as Size
from ablate.config.limits import Range


@dataclass(kw_only=True)
class Count(Synthetic):
    """The target is how often the first of all words is in the source.

    Args:
        length: words of a source.
        symbols: words that there are.
    """

    length: Size
    symbols: Annotated[int, Range(2)]

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return random words and a count."""
        numbers = [choose(self.symbols) for _ in range(self.length)]
        return named("s", numbers), named("n", [numbers.count(0)])

    def chance(self) -> Level:
        """Return the level of who does not read the source."""
        n, p = self.length, 1 / self.symbols
        share = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        return answer(-sum(q * log(q) for q in share if q), max(share))
