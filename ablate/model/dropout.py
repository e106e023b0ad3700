"""Dropout at every place in the model.

Equation: y = x * mask / (1 - p), where each entry of the mask is 0 with probability p, else 1.
Source: arXiv:1207.0580; the places: arXiv:1706.03762, section 5.4.
What differs: on a CPU, one random number of 64 bits decides about eight entries, so p is rounded to
    a multiple of 1/256 (0.1 to 0.1016). If this would change p by more than 2 %, p is rounded to a
    multiple of 1/65536, and one random number decides about four entries. Kept values are divided
    by 1 - p with the rounded p. torch draws a number for each entry, which takes longer than the
    matrix products of a small model.
What to expect: the same distribution as torch's dropout, but other masks for the same seed.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import hardware
from ablate.config.limits import Range

DECISIONS = {1 << 8: torch.int8, 1 << 16: torch.int16}  # number of possible rates: dtype
TOLERANCE = 0.02  # largest relative error of the rate and of the fraction of kept values


Rate = Annotated[float, Range(0, 0.99)]  # dropout of 1 would leave nothing


@dataclass
class Rates:
    """The dropout probability at each place in a Transformer.

    In the YAML files of the models, every probability defaults to `rate`.
    """

    rate: Rate
    residual: Rate
    attention: Rate
    feed_forward: Rate
    embedding: Rate


class Dropout(nn.Module):
    """A layer that zeroes each value with probability `rate` while training."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.cut, self.levels = rounded(rate)

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return x; in training, some values are set to 0 and all other values are scaled up."""
        if not self.training or self.rate == 0:
            return x
        if not hardware.uses_cpu_path(x.device):
            return F.dropout(x, self.rate)
        dropped: Tensor = _Masked.apply(x, self.cut, self.levels)  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        """Return the rate and its rounded value on a CPU, for printed models."""
        return f"rate={self.rate} ({self.cut}/{self.levels} on a CPU)"


def rounded(rate: float) -> tuple[int, int]:
    """Return (cut, levels) with the fewest levels such that cut / levels is close to the rate.

    `levels` is 256 or 65536, the number of values of a random integer; a value below `cut` means
    "drop".
    """
    for levels in DECISIONS:
        cut = min(round(rate * levels), levels - 1)
        if abs(cut - rate * levels) <= TOLERANCE * min(rate, 1 - rate) * levels:
            break
    return cut, levels


class _Masked(torch.autograd.Function):
    """An autograd function that multiplies a tensor by a random mask and rescales the kept values.

    The dropout probability is `cut` divided by `levels`, two integers that `forward` receives
    beside the tensor.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, cut: int, levels: int) -> Tensor:
        decision = DECISIONS[levels]
        count = -(-x.numel() * decision.itemsize // 8)
        numbers = torch.empty(count, dtype=torch.int64).random_(-(2**63), None)
        decisions = numbers.view(decision)[: x.numel()].view(x.shape)
        mask = torch.ge(decisions, cut - levels // 2, out=torch.empty_like(x))
        mask.mul_(levels / (levels - cut))
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (mask,) = ctx.saved_tensors
        return grads[0] * mask, None, None
