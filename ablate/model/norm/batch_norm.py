"""Batch normalisation over all tokens of a batch.

Equation: gain * (x - mean) / sqrt(var + eps) + bias. In training, mean and var of each channel are
    taken over the tokens of the batch (var biased); in testing, their running averages are used.
Source: arXiv:1502.03167, algorithms 1 and 2; in a Transformer: arXiv:2003.07845.
What differs: with padding=left_out the statistics come from real tokens only, but padding is
    normalised too; padding=counted uses all tokens, as torch.nn.BatchNorm1d would. In training on
    several processes, each process has separate statistics, and the statistics of the first process
    are saved.
What to expect: worse than layer_norm, as statistics of text vary between batches. In training, the
    output of each token depends through the statistics on all tokens of the batch, later ones
    included. In testing, it depends neither on later tokens nor on other sentences of the batch,
    and decoding step by step equals one parallel pass.
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate import hardware
from ablate.config.limits import Range, check_one_of
from ablate.model.norm.base import Norm, Real, Vectors

PADDING = ("left_out", "counted")


class BatchNorm(Norm):
    """Normalises each channel to zero mean and unit variance, then applies a learned gain and bias.

    Args:
        d_model: number of channels.
        eps: small constant added to the variance before the division by its root.
        momentum: weight of the newest batch in the running averages of mean and variance.
        padding: whether padding tokens enter mean and variance: left_out | counted.

    Raises:
        UserError: `padding` has another value.
    """

    mean: Tensor
    var: Tensor

    def __init__(
        self,
        *,
        d_model: int,
        eps: Annotated[float, Range(0)],
        momentum: Annotated[float, Range(0, 1)],
        padding: str,
    ) -> None:
        super().__init__()
        check_one_of("model.norm.padding", padding, PADDING)
        self.eps = eps
        self.momentum = momentum
        self.counts_padding = padding == "counted"
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("mean", torch.zeros(d_model))
        self.register_buffer("var", torch.ones(d_model))

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors; in training, also update the running averages."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean, var = self.mean, self.var
        if self.training:
            mean, var, unbiased = self.statistics(wide, None if self.counts_padding else real)
            self.remember(mean.detach(), unbiased.detach())
        normal = (wide - mean) * (var + self.eps).rsqrt()
        return (self.gain * normal + self.bias).to(x.dtype)

    def statistics(
        self, x: Vectors, real: Real | None
    ) -> tuple[Float[Tensor, " D"], Float[Tensor, " D"], Float[Tensor, " D"]]:
        """Return mean, variance and unbiased variance of each channel over the real tokens."""
        if real is None or hardware.uses_cpu_path(x.device):
            counted = x.flatten(0, -2) if real is None else x[real]
            var, mean = torch.var_mean(counted, 0, correction=0)
            return mean, var, var * (len(counted) / max(len(counted) - 1, 1))
        # a selection by a boolean mask would wait for the device
        tokens, weight = x.flatten(0, -2), real.flatten()[:, None].to(x.dtype)
        n = weight.sum()
        mean = (tokens * weight).sum(0) / n
        var = ((tokens - mean).square() * weight).sum(0) / n
        return mean, var, var * (n / (n - 1).clamp(min=1))

    def remember(self, mean: Float[Tensor, " D"], unbiased: Float[Tensor, " D"]) -> None:
        """Update the running averages with the mean and the unbiased variance of a batch."""
        self.mean.lerp_(mean.to(self.mean), self.momentum)
        self.var.lerp_(unbiased.to(self.var), self.momentum)
