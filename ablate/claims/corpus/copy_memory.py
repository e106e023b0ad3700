"""Copy a few words across a distance.

Equation: y_t = x_t, t = 1 .. `words`, x_t uniform; the source has `distance` words that mean
    nothing, then x, then as many again.
Source: doi:10.1162/neco.1997.9.8.1735, section 5 (long time lags); arXiv:1511.06464, section 5.1
    (copying memory problem).
What differs: words that mean nothing stand before x as well, so that who reads a source from its
    end begins as far away; no word says when to answer, as source and target are two texts.
What to expect: attention sees x at any distance; a recurrent state has to keep it, which gates do
    that begin open. Chance is who does not read the source. Bound: 0 nats.
"""

from dataclasses import dataclass
from typing import Annotated

from ablate.claims.corpus.rule import Choose, Level, Synthetic, Words, named, unread
from ablate.config.limits import Count, Range


@dataclass(kw_only=True)
class CopyMemory(Synthetic):
    """The target has the words that mean something.

    Args:
        words: of a target.
        symbols: words that there are.
        distance: words that mean nothing on each side of them.
    """

    words: Count
    symbols: Annotated[int, Range(2)]
    distance: Annotated[int, Range(0)]

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return random words with a gap on each side, and without."""
        words = named("s", [choose(self.symbols) for _ in range(self.words)])
        gap = ["gap"] * self.distance
        return [*gap, *words, *gap], words

    def chance(self) -> Level:
        """Return the level of who does not read the source."""
        return unread(self.words, self.words, self.symbols)
