"""Masks padding both as keys and as queries.

Equation: keep[i, j] = real(i) and real(j).
Source: tutorials of the Transformer (arXiv:1706.03762, which does not mention padding).
What differs: the row of a padding query is fully masked; its output depends on
    model.attention.fill (zeros, the mean of all values, or NaN).
What to expect: the results of `columns` at every real position. The exception is fill=minus_inf: it
    makes NaN at padding, and NaN spreads to real positions, because 0 * NaN = NaN even if the
    attention weight is 0.
"""

from jaxtyping import Bool
from torch import Tensor

from ablate.model.padding.base import Mask, Padding


class RowsAndColumns(Padding):
    """A mask by which no token attends to padding, and padding attends to nothing."""

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return a mask that hides keys at padding, and all keys from queries at padding."""
        return Mask(queries=queries, keys=keys)
