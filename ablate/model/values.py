"""The interface and the options of values: self-attention may combine a layer's values with those
of earlier layers.
"""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar

from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Range
from ablate.model import Law

Heads = Float[Tensor, "B H L E"]


class Values(ABC):
    """Computes the values that self-attention averages in a layer; built as `values()`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def mix(self, v: Heads, earlier: list[Heads]) -> Heads:
        """Return the values that self-attention averages in this layer.

        Args:
            v: values that this layer projects from its input.
            earlier: values that earlier layers have stored for the same tokens; empty in the first
                layer of a stack.
        """


class Separate(Values):
    """Separate values: the self-attention of each layer averages only the values of this layer.

    An option that returns the values of a layer unchanged.

    Equation: v_n = W_n x_n.
    Source: arXiv:1706.03762, section 3.2.2.
    What differs: nothing.
    What to expect: this is the reference option of the factor.
    """

    def mix(self, v: Heads, earlier: list[Heads]) -> Heads:
        """Return v, the values of this layer."""
        return v


class FirstLayer(Values):
    """Value residual: values of the first layer are added to those of all later layers.

    Values that are a weighted mean of the first layer's values and the layer's own values.

    Equation: v'_n = share v_1 + (1 - share) v_n for layers n > 1, with v_n = W_n x_n and v'_1 =
        v_1.
    Source: arXiv:2410.17897 (ResFormer; its variant with a fixed half of each,
        "Identity-ResFormer").
    What differs: the paper also has variants with learned shares, or in some layers only; these are
        not available here. In an encoder-decoder, each stack uses its own first layer, and
        cross-attention is unchanged.
    What to expect: the loss of `model/values=separate` with fewer parameters or training tokens,
        because information about the tokens themselves is preserved; no additional parameters.

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
