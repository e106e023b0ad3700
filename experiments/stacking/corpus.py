"""Continue a cycle from one of its words.

Equation: y_t = x_(s + t modulo `length`), t = 0 .. `answer` - 1, s uniform; words x are different.
Source: arXiv:2209.11895 (induction heads: what came after the same word before).
What differs: the first word of the target is a random word of the source and cannot be predicted.
What to expect: the model must locate its last output word in the source and copy the next word: one
    layer of attention cannot, two layers can. Chance: a predictor that knows the words of the
    source but not their order. Bound: a predictor that guesses the first word and knows the others.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.config.limits import Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, distinct, named, require


@dataclass(kw_only=True)
class Cycle(Synthetic):
    """A synthetic corpus in which the target is a part of the source, from a random word on; after
    the last word of the source follows its first.

    Args:
        length: number of words in a source.
        answer: number of words in a target.
        symbols: number of different words.

    Raises:
        UserError: `symbols` is less than `length`, or `length` is less than `answer`.
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
        """Return different words as source. Return as target `answer` of these words in the same
        order, from a random word on; the last word of the source is followed by the first.
        """
        words = named("s", distinct(choose, self.symbols, self.length))
        start = choose(self.length)
        return words, [words[(start + t) % self.length] for t in range(self.answer)]

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that knows the words of the source but
        not their order.
        """
        left = [self.length - t for t in range(self.answer)]
        tokens = self.answer + 1
        return Level(sum(map(log, left)) / tokens, (sum(1 / n for n in left) + 1) / tokens)

    def bound(self) -> Level:
        """Return the mean nll and accuracy of a predictor that knows everything except the first
        word of the target.
        """
        tokens = self.answer + 1
        return Level(log(self.length) / tokens, (1 / self.length + self.answer) / tokens)
