"""Reverse the source.

Equation: y_t = x_(n + 1 - t), t = 1 .. n; n uniform from `shortest` to `longest`, x_t uniform.
Source: arXiv:1506.02516, section 4.1 (sequence reversal).
What differs: the lengths; no separator, as source and target are two texts.
What to expect: similar to `copy`, but the position to read depends on the length. Chance: the loss
    of a predictor that ignores the source and knows the distributions of lengths and words. Bound:
    0 nats.
"""

from dataclasses import dataclass

from experiments.shared.corpus.copy import Copy
from experiments.shared.corpus.rule import Choose, Words


@dataclass(kw_only=True)
class Reverse(Copy):
    """A synthetic corpus in which the target is the source in reverse order.

    The arguments are those of `Copy`.
    """

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return random words as source and their reverse as target."""
        words, _ = super().pair(choose)
        return words, words[::-1]
