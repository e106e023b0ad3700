"""Attention with normalised queries and keys (QK-norm).

Equation: softmax(scale * norm(q) norm(k)^T) v, norm a layer norm over a head's width with a
    learned gain and no bias, one for queries and one for keys, shared by the heads.
Source: arXiv:2302.05442, section 2 (ViT-22B); arXiv:2309.14322, section 3.1.1, on why it lets
    learning rates grow.
What differs: positions that rotate queries and keys act before the norm. What `model/attention=
    cosine` divides by is the length alone, and its strength is learned.
What to expect: scores cannot grow beyond the gains, so that attention does not collapse to one
    key at high learning rates; at the best rate the same loss.
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.model.attention.base import Kernel
from ablate.model.attention.fused import Fused
from ablate.model.padding.base import Mask


class QKNorm(Kernel):
    """Fused attention of normalised queries and keys.

    Args:
        d_head: width of a head.
        dropout: probability on the weights.
        scale: sqrt_d_head | none | d_head | fourth_root_d_head | two_sqrt_d_head, the divisor of
            the scores.
        fill: zero_output, which is what torch's kernels do with a fully masked row.
        eps: added to the variance.

    Raises:
        UserError: another scale or fill.
    """

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
        """Set a gain in place."""
        nn.init.ones_(parameter)

    def forward(
        self,
        q: Float[Tensor, "B H Q E"],
        k: Float[Tensor, "B H K E"],
        v: Float[Tensor, "B H K W"],
        mask: Mask,
        bias: Float[Tensor, "#B #H #Q #K"] | None,
    ) -> Float[Tensor, "B H Q W"]:
        """Return the mixed values."""
        normal = (
            F.layer_norm(x, gain.shape, gain.to(x.dtype), eps=self.eps).to(x.dtype)
            for x, gain in ((q, self.query_gain), (k, self.key_gain))
        )
        return self.fused(*normal, v, mask, bias)
