"""Masks padding as queries only, which is a common mistake.

Equation: keep[i, j] = real(i).
Source: the transposed mask, a common mistake in code that follows arXiv:1706.03762.
What differs: padding queries attend to nothing, while real tokens attend to padding.
What to expect: a translation depends on the lengths of the other sentences in its batch. The output
    of fully masked rows depends on model.attention.fill. If batches are sorted by length there is
    little padding, so the harm shows with unsorted batches.
"""

from jaxtyping import Bool
from torch import Tensor

from ablate.model.laws import Law
from ablate.model.padding.base import Mask, Padding


class Rows(Padding):
    """Lets padding attend to nothing, but lets real tokens attend to padding."""

    breaks = frozenset({Law.SOURCE_PADDING})

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return the mask."""
        return Mask(queries=queries)
