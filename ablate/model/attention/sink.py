"""Attention sink: a learned key that every query may attend to, with a value of 0.

Equation: weights = softmax(scale * q [k, s]^T) over the keys and one further key s, learned for
    each head; the output sums weights times values over the keys without s.
Source: arXiv:2309.17453 (StreamingLLM), which trains with a learned token in front of every text,
    and compares it with a key and a value of 0.
What differs: in the paper the learned token passes through all layers and has a value. Here each
    head of each layer has a learned key, initialised like any matrix. Under rotary positions the
    sink is at position 0.
What to expect: a head that has nothing to attend to puts its weight on the sink instead of the
    first token; the loss hardly changes.
"""

import torch
from torch import nn
from torch.nn import functional as F

from ablate.model.attention.base import Bias, Keys, Outputs, Queries, Values, with_more_keys
from ablate.model.attention.fused import Fused
from ablate.model.padding import Mask


class Sink(Fused):
    """Fused attention with one additional learned key for each head.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked; fused kernels allow only zero_output (0).

    Raises:
        UserError: `scale` or `fill` has another value.
    """

    has_shares = False
    has_partial_shares = True  # the weights of the keys sum to less than 1

    def __init__(self, *, d_head: int, dropout: float, scale: str, fill: str) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale=scale, fill=fill)
        self.d_head = d_head

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Create the learned key of each head."""
        self.sink = nn.Parameter(torch.empty(n_heads, self.d_head))

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        sink = self.sink[:, None].to(k.dtype).expand(len(k), -1, -1, -1)
        mask, bias = with_more_keys(q, k, mask, bias, behind=1)
        return super().forward(q, torch.cat([k, sink], 2), F.pad(v, (0, 0, 0, 1)), mask, bias)
