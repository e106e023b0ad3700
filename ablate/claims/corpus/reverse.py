"""Reverse the source.

Equation: y_t = x_(n + 1 - t), t = 1 .. n; n uniform from `shortest` to `longest`, x_t uniform.
Source: arXiv:1506.02516, section 4.1 (sequence reversal).
What differs: the lengths; no separator, as source and target are two texts.
What to expect: as `copy`; where to read depends on the length. Chance is who does not read the
    source and knows how lengths and words are distributed. Bound: 0 nats.
"""

from dataclasses import dataclass
from typing import Annotated

from ablate.config.limits import Count, Range
from ablate.data.rule import Choose, Level, Synthetic, Words, named, require, unread


@dataclass(kw_only=True)
class Reverse(Synthetic):
    """The target is the source from its end to its beginning.

    Args:
        shortest, longest: words of a source.
        symbols: words that there are.

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
        """Return random words and their reverse."""
        length = self.shortest + choose(self.longest - self.shortest + 1)
        words = named("s", [choose(self.symbols) for _ in range(length)])
        return words, words[::-1]

    def chance(self) -> Level:
        """Return the level of who does not read the source."""
        return unread(self.shortest, self.longest, self.symbols)
