"""Scaled dot-product attention by torch's fused kernel.

Equation: softmax(scale * q k^T) v, where masked keys have weight 0; zeros if every key is masked.
Source: arXiv:1706.03762, section 3.2.1; memory-saving kernels: arXiv:2205.14135.
What differs: nothing for queries that may attend to at least one key.
What to expect: the results of explicit attention with fill=zero_output, with less memory on a
    GPU. On a CPU it *is* explicit attention in two cases: with dropout, for which torch has only a
    slow path of the same arithmetic, and with few keys, where two products and a softmax take less
    time.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from ablate import hardware
from ablate.errors import UserError
from ablate.model.attention.base import Bias, Kernel, Keys, Outputs, Queries, Values, scale_factor
from ablate.model.attention.explicit import Explicit
from ablate.model.padding import Mask

FEW = 48  # number of keys up to which explicit attention is faster on a CPU


class Fused(Kernel):
    """Attention by torch.nn.functional.scaled_dot_product_attention.

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
        super().__init__()
        if fill != "zero_output":
            raise UserError(
                f"model.attention.fill is {fill!r}: fused attention has zero_output only; "
                "for another fill choose model/attention=explicit"
            )
        self.scale = scale_factor(scale, d_head)
        self.rate = dropout
        self.explicit = Explicit(d_head=d_head, dropout=dropout, scale=scale, fill=fill)

    def reads_strided(self, n_keys: int, device: torch.device) -> bool:
        """Return whether torch's fused kernel computes the heads; it can read strided views.

        In all other cases explicit attention computes the heads, and needs contiguous copies.
        """
        drops = self.training and self.rate > 0
        return not ((drops or n_keys <= FEW) and hardware.uses_cpu_path(device))

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        if not self.reads_strided(k.size(2), q.device):
            return self.explicit(q, k, v, mask, bias)
        rate = self.rate if self.training else 0.0
        if mask.is_causal_alone and bias is None and q.size(2) == k.size(2):
            return F.scaled_dot_product_attention(
                q, k, v, None, rate, is_causal=True, scale=self.scale
            )
        keep = mask.dense(q.size(2), k.size(2), q.device)
        added: Tensor | None = None
        if bias is not None:
            added = bias if keep is None else bias.masked_fill(~keep, -torch.inf)
            added = added.to(q.dtype).expand(-1, -1, -1, k.size(2)).contiguous()
        elif keep is not None:
            added = mask.once(("added", q.dtype), lambda: self.blocked(keep, k.size(2), q.dtype))
        return F.scaled_dot_product_attention(q, k, v, added, rate, scale=self.scale)

    def blocked(
        self, keep: Bool[Tensor, "#B 1 #Q #K"], n_keys: int, dtype: torch.dtype
    ) -> Float[Tensor, "#B 1 #Q K"]:
        """Return 0 where a key is kept and minus infinity where it is masked.

        CUDA's kernels do not repeat a column of a mask for all keys.
        """
        keep = keep.expand(-1, -1, -1, n_keys)
        return torch.zeros_like(keep, dtype=dtype).masked_fill(~keep, -torch.inf)

    def extra_repr(self) -> str:
        """Return a note for printed models: which kernel runs on which device."""
        return f"torch's kernel; on a CPU explicit, with dropout and up to {FEW} keys"
