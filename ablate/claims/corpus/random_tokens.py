"""Random targets, which nothing predicts.

Equation: y_t uniform of `symbols` words, independent of the source and of one another.
Source: arXiv:1611.03530, section 2 (labels without any relation to their inputs).
What differs: tokens in place of labels, drawn anew for every sentence.
What to expect: nothing to learn but the distribution: chance and bound are both ln `symbols` for
    every word of a target. Below the bound, something is wrong: targets leak.
"""

from dataclasses import dataclass
from typing import Annotated

from ablate.claims.corpus.rule import Choose, Level, Synthetic, Words, named, unread
from ablate.config.limits import Count, Range


@dataclass(kw_only=True)
class RandomTokens(Synthetic):
    """Source and target are random words, as many of each.

    Args:
        length: words of a source and of a target.
        symbols: words that there are.
    """

    length: Count
    symbols: Annotated[int, Range(2)]

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return random words and random words."""
        src, tgt = ([choose(self.symbols) for _ in range(self.length)] for _ in range(2))
        return named("s", src), named("s", tgt)

    def chance(self) -> Level:
        """Return the level of who knows the distribution."""
        return unread(self.length, self.length, self.symbols)

    def bound(self) -> Level:
        """Return the same: there is nothing else to know."""
        return self.chance()
