"""Copy the word at a fixed offset.

Equation: y_t = x_(t + `offset` modulo `length`), t = 0 .. `length` - 1; x_t uniform.
Source: arXiv:1706.03762, section 3.5 (positions that make a fixed offset easy to attend to).
What differs: a synthetic task; the source is circular.
What to expect: one head that attends by position only. Chance: a predictor that ignores the source
    and knows its length. Bound: 0 nats.
"""

from dataclasses import dataclass
from typing import Annotated

from ablate.config.limits import Count, Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, named, require, unread


@dataclass(kw_only=True)
class LookUp(Synthetic):
    """A synthetic corpus in which the target is the source rotated by `offset` words: the first
    `offset` words of the source are moved to its end.

    Args:
        length: number of words in a source.
        symbols: number of different words.
        offset: number of words that the target moves from the start of the source to its end.

    Raises:
        UserError: the offset is not below the length.
    """

    length: Count
    symbols: Annotated[int, Range(2)]
    offset: Annotated[int, Range(0)]

    def __post_init__(self) -> None:
        require(
            self.offset < self.length,
            f"data.offset={self.offset} must be below data.length={self.length}.",
        )

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return random words as source and the rotated source as target."""
        words = named("s", [choose(self.symbols) for _ in range(self.length)])
        return words, words[self.offset :] + words[: self.offset]

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that ignores the source."""
        return unread(self.length, self.length, self.symbols)
