"""No padding mask.

Equation: keep[i, j] = True.
Source: arXiv:1706.03762 taken literally: its text does not mention padding.
What differs: real source tokens and the decoder attend to padding of the source. Padding of targets
    is on the right, where the causal mask hides it in any case.
What to expect: as with `rows`, a translation depends on the other sentences of its batch.
"""

from jaxtyping import Bool
from torch import Tensor

from ablate.model.laws import Law
from ablate.model.padding.base import Mask, Padding


class NoPadding(Padding):
    """An option without a padding mask: padding is a token like any other."""

    breaks = frozenset({Law.SOURCE_PADDING})

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return a mask that allows everything."""
        return Mask()
