"""Attention with normalised queries and keys (QK-norm).

Equation: softmax(scale * norm(q) norm(k)^T) v. The norm is a layer norm over the width of a head,
    with a learned gain and no bias. Queries have one gain and keys have another; all heads share
    both.
Source: arXiv:2302.05442, section 2 (ViT-22B); arXiv:2309.14322, section 3.1.1, on why it permits
    higher learning rates.
What differs: positions that rotate queries and keys are applied before the norm. With rotary
    positions, scores therefore do not depend on the distance alone: the mean that the norm
    subtracts changes with the rotation, and the channels of a rotated pair have different gains.
    Most models with QK-norm and rotary positions rotate after the norm, as does
    `model/attention=qk_norm_first`. Unlike QK-norm, `model/attention=cosine` only divides queries
    and keys by their L2 norm, and learns the scale.
What to expect: scores are bounded by the gains, so that attention does not collapse to one
    key at high learning rates; at the best learning rate the same loss.
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.model.attention.base import Bias, Kernel, Keys, Outputs, Queries, Values
from ablate.model.attention.fused import Fused
from ablate.model.padding import Mask

Heads = Float[Tensor, "B H N E"]  # queries or keys


class QKNorm(Kernel):
    """Fused attention with layer-normalised queries and keys.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked; fused kernels allow only zero_output (0).
        eps: small constant added to the variance before the division by its root.

    Raises:
        UserError: `scale` or `fill` has another value.
    """

    divides_by_root = False  # the norm undoes a factor of the queries

    def __init__(
        self,
        *,
        d_head: int,
        dropout: float,
        scale: str,
        fill: str,
        eps: Annotated[float, Range(0)],
    ) -> None:
        super().__init__()
        self.fused = Fused(d_head=d_head, dropout=dropout, scale=scale, fill=fill)
        self.eps = eps
        self.query_gain = nn.Parameter(torch.ones(d_head))
        self.key_gain = nn.Parameter(torch.ones(d_head))

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Set a gain of the norms to ones, in place."""
        nn.init.ones_(parameter)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        q, k = self.normal(q, self.query_gain), self.normal(k, self.key_gain)
        return self.fused(q, k, v, mask, bias)

    def normal(self, x: Heads, gain: Float[Tensor, " E"]) -> Heads:
        """Return queries or keys with mean 0 and variance 1, times a gain."""
        return F.layer_norm(x, gain.shape, gain, eps=self.eps).to(x.dtype)
