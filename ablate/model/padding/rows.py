"""Mask padding as queries only.

Equation: keep[i, j] = real(i).
Source: the transposed mask, a common mistake in code that follows arXiv:1706.03762.
What differs: padding queries attend to nothing, while real tokens attend to padding.
What to expect: a translation depends on the length of its batch mates. Fully masked rows give
    what model.attention.fill says. With length-bucketed batches there is little padding, so
    the harm shows in unbucketed ones.
"""

from jaxtyping import Bool
from torch import Tensor

from ablate.model.laws import Law
from ablate.model.padding.base import Mask, Padding


class Rows(Padding):
    """Padding attends to nothing, but everybody real attends to padding."""

    breaks = frozenset({Law.SOURCE_PADDING})

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return the mask."""
        return Mask(queries=queries)
