"""Reverse the source.

Equation: y_t = x_(n + 1 - t), t = 1 .. n; n uniform from `shortest` to `longest`, x_t uniform.
Source: arXiv:1506.02516, section 4.1 (sequence reversal).
What differs: the lengths; no separator, as source and target are two texts.
What to expect: as `copy`; where to read depends on the length. Chance is who does not read the
    source and knows how lengths and words are distributed. Bound: 0 nats.
"""

from dataclasses import dataclass

from ablate.claims.corpus.copy import Copy
from ablate.claims.corpus.rule import Choose, Words


@dataclass(kw_only=True)
class Reverse(Copy):
    """The target is the source from its end to its beginning; the settings are those of `Copy`."""

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return random words and their reverse."""
        words, _ = super().pair(choose)
        return words, words[::-1]
