"""Values of the first layer, added to those of all later ones (value residual).

Equation: v'_n = share v_1 + (1 - share) v_n for layers n > 1, v_n = W_n x_n; v'_1 = v_1.
Source: arXiv:2410.17897 (ResFormer; its variant with a fixed half of each, "Identity-ResFormer").
What differs: the variants whose shares are learned, or act in some layers only, are not there. An
    encoder and a decoder have first layers of their own; cross-attention has its own values.
What to expect: the loss of plain values from fewer parameters or tokens, as information on the
    tokens themselves stays; no parameter more.
"""

from typing import Annotated

from ablate.config.limits import Range
from ablate.model.values.base import Heads, Values


class FirstLayer(Values):
    """Adds a share of the first layer's values.

    Args:
        share: of the first layer, between 0 and 1.
    """

    def __init__(self, *, share: Annotated[float, Range(0, 1)]) -> None:
        self.share = share

    def mix(self, v: Heads, earlier: list[Heads]) -> Heads:
        """Return the values of this layer, and leave those of the first."""
        if not earlier:
            earlier.append(v)
            return v
        return self.share * earlier[0] + (1 - self.share) * v
