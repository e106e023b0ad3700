"""Copy a few words across a distance.

Equation: y_t = x_t, t = 1 .. `words`, x_t uniform; the source has `distance` filler words, then x,
    then `distance` filler words again.
Source: doi:10.1162/neco.1997.9.8.1735, section 5 (long time lags); arXiv:1511.06464, section 5.1
    (copying memory problem).
What differs: filler words also precede x, so a model that reads the source backwards has the same
    distance; no word marks the start of the answer, because source and target are separate texts.
What to expect: attention sees x at any distance; a recurrent state has to store it, which gates
    that start open can do. Chance: a predictor that ignores the source. Bound: 0 nats.
"""

from dataclasses import dataclass
from typing import Annotated

from ablate.config.limits import Count, Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, named, unread


@dataclass(kw_only=True)
class CopyMemory(Synthetic):
    """A synthetic corpus in which the source has filler words before and after some random words,
    and the target has the random words alone.

    Args:
        words: number of words to copy, which are the target.
        symbols: number of different words, not counting the filler word.
        distance: number of filler words before the words to copy, and after them.
    """

    words: Count
    symbols: Annotated[int, Range(2)]
    distance: Annotated[int, Range(0)]

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return random words with filler words on each side as source, and without them as
        target.
        """
        words = named("s", [choose(self.symbols) for _ in range(self.words)])
        gap = ["gap"] * self.distance
        return [*gap, *words, *gap], words

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that ignores the source."""
        return unread(self.words, self.words, self.symbols)
