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
from ablate.model.padding.base import Padding


class Rows(Padding):
    """Padding attends to nothing, but everybody real attends to padding."""

    breaks = frozenset({Law.SOURCE_PADDING})

    def keep(
        self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]
    ) -> Bool[Tensor, "B 1 Q 1"]:
        """Return the mask."""
        return queries[:, None, :, None]
