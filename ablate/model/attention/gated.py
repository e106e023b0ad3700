"""A sigmoid gate behind attention.

Equation: o = softmax(scale * q k^T) v, then sigmoid(W x + b) * o before the output projection, x
    what the sub-layer reads, W from d_model to all channels of all heads.
Source: arXiv:2505.06708 (gated attention; of its places for a gate the one behind the attention
    of values, elementwise and for each head apart).
What differs: a bias, as our other maps have. In cross-attention x is the decoder's token.
What to expect: a lower loss, steadier training at high learning rates, and less attention to the
    first token, for d_model * n_heads * d_head parameters more; to compare at equal size, take
    as much from model.d_ff.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.model.attention.fused import Fused
from ablate.model.linear import Linear


class Gated(Fused):
    """Fused attention whose heads are multiplied by numbers between 0 and 1.

    Args:
        d_head: width of a head.
        dropout: probability on the weights.
        scale: sqrt_d_head | none | d_head | fourth_root_d_head | two_sqrt_d_head, the divisor of
            the scores.
        fill: zero_output, which is what torch's kernels do with a fully masked row.

    Raises:
        UserError: another scale or fill.
    """

    def __init__(self, *, d_head: int, dropout: float, scale: str, fill: str) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale=scale, fill=fill)
        self.d_head = d_head

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Make the map from the tokens to the gates of all heads."""
        self.gate = Linear(d_model, n_heads * self.d_head)

    def finish(
        self, heads: Float[Tensor, "B H Q W"], x: Float[Tensor, "B Q D"]
    ) -> Float[Tensor, "B H Q W"]:
        """Return the heads, each channel times its gate."""
        gates = torch.sigmoid(self.gate(x)).view(*x.shape[:2], heads.size(1), heads.size(3))
        return heads * gates.transpose(1, 2)
