"""Copy the words at two fixed offsets at once.

Equation: y_t = the pair of x_(t + `first`) and x_(t + `second`), both modulo `length`, as one word.
Source: arXiv:1706.03762, section 3.2.2 (with a single head, averaging inhibits attending to two
    places).
What differs: a synthetic task; the source is circular.
What to expect: two heads solve it in one layer; a single head needs several layers. Chance: a
    predictor that ignores the source but remembers the words of earlier pairs. Bound: 0 nats.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.config.limits import Count, Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, named, require


@dataclass(kw_only=True)
class TwoLookUps(Synthetic):
    """A synthetic corpus in which each target word joins two source words into one word: the words
    at two offsets from the position of the target word.

    Args:
        length: number of words in a source.
        symbols: number of different source words; there are `symbols` ** 2 different target words.
        first: distance in words from a target position to the first source word that it joins.
        second: distance in words from a target position to the second source word that it joins.

    Raises:
        UserError: an offset is not below the length, or the offsets are equal.
    """

    length: Count
    symbols: Annotated[int, Range(2)]
    first: Annotated[int, Range(0)]
    second: Annotated[int, Range(0)]

    def __post_init__(self) -> None:
        require(
            max(self.first, self.second) < self.length and self.first != self.second,
            f"data.first={self.first} and data.second={self.second} must be different and below "
            f"data.length={self.length}.",
        )

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return random words as source, and as target for each position t the word that joins the
        source words at positions t + `first` and t + `second`.
        """
        words = named("s", [choose(self.symbols) for _ in range(self.length)])
        return words, [words[i] + words[j] for i, j in self._places()]

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that ignores the source."""
        seen: set[int] = set()
        right = 1.0  # for EOS
        for places in self._places():
            right += self.symbols ** -len({*places} - seen)
            seen.update(places)
        tokens = self.length + 1
        return Level(self.length * log(self.symbols) / tokens, right / tokens)

    def _places(self) -> list[tuple[int, int]]:
        n = self.length
        return [((t + self.first) % n, (t + self.second) % n) for t in range(n)]
