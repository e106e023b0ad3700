"""Dropout at every site of the model.

Equation: y = x * mask / (1 - p), each entry of the mask 0 with probability p, else 1.
Source: arXiv:1207.0580; the sites: arXiv:1706.03762, section 5.4.
What differs: on a CPU, four decisions are cut from one random number of 64 bits, so p is rounded
    to a multiple of 1/65536 and the kept values are scaled by the rounded rate. torch draws a
    number per entry, which costs more than the matrix products of a small model.
What to expect: the same distribution as torch's; other masks for the same seed.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

LEVELS = 1 << 16  # decisions of 16 bits


class Dropout(nn.Module):
    """Zeroes each value with probability `rate` while training."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return x with some values zeroed and the others scaled up."""
        if not self.training or self.rate == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        dropped: Tensor = _Masked.apply(x, round(self.rate * LEVELS))  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        """The rate."""
        return f"rate={self.rate}"


class _Masked(torch.autograd.Function):
    """The product with a fresh mask; `cut` of LEVELS decisions are zeros."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cut: int) -> Tensor:
        numbers = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        decisions = numbers.view(torch.int16)[: x.numel()].view(x.shape)
        mask = torch.ge(decisions, cut - LEVELS // 2, out=torch.empty_like(x))
        mask.mul_(LEVELS / (LEVELS - cut))
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return grads[0] * mask, None
