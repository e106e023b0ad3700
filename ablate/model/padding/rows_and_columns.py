"""Masks padding both as keys and as queries.

Equation: keep[i, j] = real(i) and real(j).
Source: tutorials of the Transformer (arXiv:1706.03762, which does not mention padding).
What differs: the row of a padding query is fully masked; its output depends on
    model.attention.fill (zeros, the mean of all values, or NaN).
What to expect: the results of `columns` at every real position, unless fill=minus_inf makes NaN,
    which spreads: 0 * NaN = NaN also where the weight is 0.
"""

from jaxtyping import Bool
from torch import Tensor

from ablate.model.padding.base import Mask, Padding


class RowsAndColumns(Padding):
    """Lets no token attend to padding, and padding attend to nothing."""

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return the mask."""
        return Mask(queries=queries, keys=keys)
