"""Masks padding as keys, which is the correct mask.

Equation: keep[i, j] = real(j): query i may attend to key j if key j is no padding.
Source: the "padding bias" of the authors' code, tensor2tensor (arXiv:1803.07416);
    arXiv:1706.03762 does not mention padding.
What differs: nothing.
What to expect: no real token depends on padding. The outputs at padding positions are never read.
"""

from jaxtyping import Bool
from torch import Tensor

from ablate.model.padding.base import Mask, Padding


class Columns(Padding):
    """Lets no token attend to padding."""

    is_implied_by_causality = True

    def mask(self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]) -> Mask:
        """Return a mask that hides the keys at padding."""
        return Mask(keys=keys)
