"""No padding mask.

Equation: keep[i, j] = True.
Source: what is left of arXiv:1706.03762 when its text, which does not mention padding, is
    followed to the letter.
What differs: real source tokens and the decoder attend to padding. Target padding stands to
    the right, where the causal mask hides it anyway.
What to expect: as with rows, a translation depends on its batch mates.
"""

from jaxtyping import Bool
from torch import Tensor

from ablate.model.laws import Law
from ablate.model.padding.base import Mask, Padding


class NoPadding(Padding):
    """Padding is a token like any other."""

    breaks = frozenset({Law.SOURCE_PADDING})

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return the mask."""
        return Mask()
