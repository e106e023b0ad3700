"""Go on from a word of a cycle.

Equation: y_t = x_(s + t modulo `length`), t = 0 .. `answer` - 1, s uniform; words x are different.
Source: arXiv:2209.11895 (induction heads: what came after the same word before).
What differs: the word to go on from is the first of the target, and nothing says which it is.
What to expect: a stack that reads both texts finds its own last word in the source, and the word
    after that: one layer of attention cannot, two can. Chance is who knows which words the source
    has, and not their order. Bound: who cannot know the first word, and knows the others.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.claims.corpus.rule import (
    Choose,
    Level,
    Synthetic,
    Words,
    distinct,
    named,
    require,
)
from ablate.config.limits import Range


@dataclass(kw_only=True)
class Cycle(Synthetic):
    """The target is the source from any word on, and round.

    Args:
        length: words of a source.
        answer: words of a target.
        symbols: words that there are.

    Raises:
        UserError: there are fewer words than a source has, or fewer in it than a target has.
    """

    length: Annotated[int, Range(2)]
    answer: Annotated[int, Range(2)]
    symbols: Annotated[int, Range(2)]

    def __post_init__(self) -> None:
        require(
            self.answer <= self.length <= self.symbols,
            f"data.length={self.length} must be from data.answer={self.answer} to data.symbols="
            f"{self.symbols}: the words of a source are different, and so are those of a target.",
        )

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return different words, and some of them in turn."""
        words = named("s", distinct(choose, self.symbols, self.length))
        start = choose(self.length)
        return words, [words[(start + t) % self.length] for t in range(self.answer)]

    def chance(self) -> Level:
        """Return the level of who knows the words of the source, and not their order."""
        left = [self.length - t for t in range(self.answer)]
        tokens = self.answer + 1
        return Level(sum(map(log, left)) / tokens, (sum(1 / n for n in left) + 1) / tokens)

    def bound(self) -> Level:
        """Return the level of who knows all but where the target starts."""
        tokens = self.answer + 1
        return Level(log(self.length) / tokens, (1 / self.length + self.answer) / tokens)
