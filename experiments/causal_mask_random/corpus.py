"""Random targets that cannot be predicted.

Equation: y_t uniform of `symbols` words, independent of the source and of one another.
Source: arXiv:1611.03530, section 2 (labels without any relation to their inputs).
What differs: tokens in place of labels, drawn anew for every sentence.
What to expect: only the distribution can be learned: chance and bound are both ln `symbols` for
    every word of a target. A loss below the bound shows that targets leak.
"""

from dataclasses import dataclass
from typing import Annotated

from ablate.config.limits import Count, Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, named, unread


@dataclass(kw_only=True)
class RandomTokens(Synthetic):
    """A synthetic corpus in which source and target are independent sequences of random words.

    Args:
        length: number of words in each source and each target.
        symbols: number of different words.
    """

    length: Count
    symbols: Annotated[int, Range(2)]

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return two independent random sequences."""
        src, tgt = ([choose(self.symbols) for _ in range(self.length)] for _ in range(2))
        return named("s", src), named("s", tgt)

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that knows only the distribution of
        words.
        """
        return unread(self.length, self.length, self.symbols)

    def bound(self) -> Level:
        """Return the same values as `chance`, because no predictor can be better."""
        return self.chance()
