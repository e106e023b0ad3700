"""Find the word that followed an earlier occurrence of the last word.

Equation: y = x_(i + 1), where x_i is repeated at the end of the source; all other words are
    different.
Source: arXiv:2209.11895 (induction heads).
What differs: all earlier words are different, so the answer is unique; the answer is a separate
    target text.
What to expect: one layer cannot, two layers can. Chance: a predictor that knows the words of the
    source and their frequencies but not their order: the answer is any word that occurs once.
    Bound: 0 nats.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.config.limits import Range
from experiments.shared.corpus.rule import (
    Choose,
    Level,
    Synthetic,
    Words,
    answer,
    distinct,
    named,
    require,
)


@dataclass(kw_only=True)
class Induction(Synthetic):
    """A synthetic corpus in which the last word of the source has occurred before, and the target
    is the word that followed it there.

    Args:
        length: number of words in a source, not counting the repeated word at the end.
        symbols: number of different words.

    Raises:
        UserError: `symbols` is less than `length`.
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
        """Return as source different words and a repetition of one of these words, and as target
        the word that followed the repeated word when it first occurred.
        """
        words = named("s", distinct(choose, self.symbols, self.length))
        at = choose(self.length - 1)
        return [*words, words[at]], [words[at + 1]]

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that knows how often each word occurs in
        the source, but not the order of the words.
        """
        return answer(log(self.length - 1), 1 / (self.length - 1))
