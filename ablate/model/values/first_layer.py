"""Value residual: values of the first layer are added to those of all later layers.

Equation: v'_n = share v_1 + (1 - share) v_n for layers n > 1, v_n = W_n x_n; v'_1 = v_1.
Source: arXiv:2410.17897 (ResFormer; its variant with a fixed half of each, "Identity-ResFormer").
What differs: variants with learned shares, or in some layers only, are missing. Encoder and
    decoder each have a first layer; cross-attention has its own values.
What to expect: the loss of plain values with fewer parameters or tokens, because information about
    the tokens themselves is preserved; no additional parameters.
"""

from typing import Annotated

from ablate.config.limits import Range
from ablate.model.values.base import Heads, Values


class FirstLayer(Values):
    """Mixes a share of the first layer's values into later ones.

    Args:
        share: weight of the first layer's values, between 0 and 1.
    """

    def __init__(self, *, share: Annotated[float, Range(0, 1)]) -> None:
        self.share = share

    def mix(self, v: Heads, earlier: list[Heads]) -> Heads:
        """Return the values of this layer; in the first layer, also store them for later ones."""
        if not earlier:
            earlier.append(v)
            return v
        return self.share * earlier[0] + (1 - self.share) * v
