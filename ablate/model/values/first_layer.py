"""Value residual: values of the first layer are added to those of all later layers.

Equation: v'_n = share v_1 + (1 - share) v_n for layers n > 1, with v_n = W_n x_n and v'_1 = v_1.
Source: arXiv:2410.17897 (ResFormer; its variant with a fixed half of each, "Identity-ResFormer").
What differs: the paper also has variants with learned shares, or in some layers only; these are not
    available here. In an encoder-decoder, each stack uses its own first layer, and cross-attention
    is unchanged.
What to expect: the loss of `model/values=separate` with fewer parameters or training tokens,
    because information about the tokens themselves is preserved; no additional parameters.
"""

from typing import Annotated

from ablate.config.limits import Range
from ablate.model.values.base import Heads, Values


class FirstLayer(Values):
    """Values that are a weighted mean of the first layer's values and the layer's own values.

    Args:
        share: weight of the first layer's values in the mean with a layer's own values.
    """

    def __init__(self, *, share: Annotated[float, Range(0, 1)]) -> None:
        self.share = share

    def mix(self, v: Heads, earlier: list[Heads]) -> Heads:
        """Return the weighted mean of the first layer's values and the values v of this layer.

        In the first layer, return v, and append it to `earlier` for later layers.
        """
        if not earlier:
            earlier.append(v)
            return v
        return self.share * earlier[0] + (1 - self.share) * v
