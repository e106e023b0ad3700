"""Mask padding as keys.

Equation: keep[i, j] = real(j).
Source: the "padding bias" of the authors' code, tensor2tensor (arXiv:1803.07416);
    arXiv:1706.03762 does not mention padding.
What differs: nothing.
What to expect: the correct mask. Padding positions still compute something, which nobody reads.
"""

from jaxtyping import Bool
from torch import Tensor

from ablate.model.padding.base import Mask, Padding


class Columns(Padding):
    """Nobody attends to padding."""

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return the mask."""
        return Mask(keys=keys)
