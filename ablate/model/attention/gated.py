"""Attention with a sigmoid gate on its output.

Equation: o = softmax(scale * q k^T) v, then sigmoid(W x + b) * o before the output projection. x is
    the input of the sub-layer; W maps d_model to all channels of all heads.
Source: arXiv:2505.06708 (gated attention). Of the paper's variants, this is the gate after the
    softmax attention, elementwise and separate for each head.
What differs: the gate has a bias, as the other linear maps here have. In cross-attention x is the
    decoder's token.
What to expect: a lower loss, steadier training at high learning rates, and less attention to the
    first token. It adds d_model * n_heads * d_head parameters; to compare at equal size, reduce
    model.d_ff accordingly.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.model.attention.base import Outputs
from ablate.model.attention.fused import Fused
from ablate.model.linear import Linear


class Gated(Fused):
    """Fused attention whose outputs are multiplied by learned gates between 0 and 1.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked; fused kernels allow only zero_output (0).

    Raises:
        UserError: `scale` or `fill` has another value.
    """

    def __init__(self, *, d_head: int, dropout: float, scale: str, fill: str) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale=scale, fill=fill)
        self.d_head = d_head

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Create the linear map from tokens to the gates of all heads."""
        self.gate = Linear(d_model, n_heads * self.d_head)

    def finish(self, heads: Outputs, x: Float[Tensor, "B Q D"]) -> Outputs:
        """Return the outputs of the heads, each channel multiplied by its gate."""
        gates = torch.sigmoid(self.gate(x)).view(*x.shape[:2], heads.size(1), heads.size(3))
        return heads * gates.transpose(1, 2)
