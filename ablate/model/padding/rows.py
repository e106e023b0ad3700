"""Masks padding as queries only, which is a common mistake.

Equation: keep[i, j] = real(i): query i may attend to all keys if query i is no padding.
Source: the transposed mask, a common mistake in code that follows arXiv:1706.03762.
What differs: padding queries attend to nothing, while real tokens attend to padding.
What to expect: a translation depends on the lengths of the other sentences in its batch. The output
    of fully masked rows depends on model.attention.fill. Batches sorted by length have little
    padding, so the harm is visible only with unsorted batches.
"""

from jaxtyping import Bool
from torch import Tensor

from ablate.model.laws import Law
from ablate.model.padding.base import Mask, Padding


class Rows(Padding):
    """A mask by which padding attends to nothing, while real tokens attend to padding."""

    breaks = frozenset({Law.SOURCE_PADDING})

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return a mask that hides all keys from queries at padding."""
        return Mask(queries=queries)
