"""Find what came after the same word before.

Equation: y = x_(i + 1), where x_i is the word that the source ends in once more; all other words
    are different.
Source: arXiv:2209.11895 (induction heads).
What differs: the words before are different, so that the answer is certain; it is a target text.
What to expect: one layer cannot, two layers can. Chance is who knows which words the source has,
    how often, and not their order: the answer is any word that stands there once. Bound: 0 nats.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.claims.corpus.rule import (
    Choose,
    Level,
    Synthetic,
    Words,
    answer,
    distinct,
    named,
    require,
)
from ablate.config.limits import Range


@dataclass(kw_only=True)
class Induction(Synthetic):
    """The target is the word that followed.

    Args:
        length: words of a source, without the one that stands there again.
        symbols: words that there are.

    Raises:
        UserError: there are fewer words than a source has.
    """

    length: Annotated[int, Range(2)]
    symbols: Annotated[int, Range(2)]

    def __post_init__(self) -> None:
        require(
            self.length <= self.symbols,
            f"data.length={self.length} is above data.symbols={self.symbols}, but the words of a "
            "source are all different.",
        )

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return different words and one of them again, and the one after that."""
        words = named("s", distinct(choose, self.symbols, self.length))
        at = choose(self.length - 1)
        return [*words, words[at]], [words[at + 1]]

    def chance(self) -> Level:
        """Return the level of who knows the words of the source, and not their order."""
        return answer(log(self.length - 1), 1 / (self.length - 1))
