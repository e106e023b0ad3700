"""Copy the source.

Equation: y_t = x_t, t = 1 .. n; n uniform from `shortest` to `longest`, x_t uniform.
Source: arXiv:1506.02516, section 4.1 (sequence copying).
What differs: the lengths; no separator, as source and target are two texts.
What to expect: learned with any positions; without them, the order is lost. Chance: a predictor
    that ignores the source and knows the distributions of lengths and words. Bound: 0 nats.
"""

from dataclasses import dataclass
from typing import Annotated

from ablate.config.limits import Count, Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, named, require, unread


@dataclass(kw_only=True)
class Copy(Synthetic):
    """A synthetic corpus in which the target is a copy of the source.

    Args:
        shortest: smallest number of words in a source.
        longest: largest number of words in a source.
        symbols: number of different words.

    Raises:
        UserError: `shortest` is above `longest`.
    """

    shortest: Count
    longest: Count
    symbols: Annotated[int, Range(2)]

    def __post_init__(self) -> None:
        require(
            self.shortest <= self.longest,
            f"data.shortest={self.shortest} is above data.longest={self.longest}.",
        )

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return random words as both source and target."""
        length = self.shortest + choose(self.longest - self.shortest + 1)
        words = named("s", [choose(self.symbols) for _ in range(length)])
        return words, words

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that ignores the source."""
        return unread(self.shortest, self.longest, self.symbols)
