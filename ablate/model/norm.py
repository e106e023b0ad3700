"""Normalisation layers: their interface, and every option of `model/norm`."""

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import process
from ablate.config.limits import OneOf, Range
from ablate.model import Law

Vectors = Float[Tensor, "*N D"]  # the vectors of tokens, after any other dimensions
Real = Bool[Tensor, "*N"]  # False at padding


class Norm(nn.Module, ABC):
    """Normalises the vector of each token; built as `norm(d_model=...)`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors.

        `real` is False at padding; None: there is no padding.
        """


class GainNorm(Norm):
    """A norm with a learned gain and, if `has_bias` is true, a learned bias.

    Built as `norm(d_model=...)`; `eps` keeps a divisor away from 0.
    """

    has_bias = False
    bias: Any  # None without a bias

    def __init__(self, *, d_model: int, eps: Annotated[float, Range(0)]) -> None:
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if self.has_bias else None


class LayerNorm(GainNorm):
    """Layer normalisation.

    Normalises vectors to zero mean and unit variance, then applies a learned gain and bias.

    Equation: gain * (x - mean) / sqrt(var + eps) + bias, where var is the sum of squares divided by
        d_model (biased).
    Source: arXiv:1607.06450, equation 4.
    What differs: nothing.
    What to expect: this is the reference option of the factor.
    """

    has_bias = True

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors."""
        normal = F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)
        return normal.to(x.dtype)  # with autocast on a GPU, torch returns float32


class LayerNormNoBias(LayerNorm):
    """Layer normalisation with a gain and without a bias.

    Normalises each vector to zero mean and unit variance, then applies a learned gain.

    Equation: gain * (x - mean) / sqrt(var + eps), where var is the sum of squares divided by
        d_model (biased).
    Source: arXiv:2204.02311, section 2 ("No Biases"), and the code of nanoGPT.
    What differs: nothing.
    What to expect: the quality of layer_norm, because the linear maps after the norm have biases.
    """

    has_bias = False


class LayerNormPlain(Norm):
    """Layer normalisation without gain and bias.

    Normalises each vector to zero mean and unit variance.

    Equation: (x - mean) / sqrt(var + eps), where var is the sum of squares divided by d_model
        (biased).
    Source: arXiv:1911.07013, section 3.1 ("LayerNorm-simple").
    What differs: nothing.
    What to expect: the quality of layer_norm or slightly better. According to the paper, gain and
        bias lead to overfitting.
    """

    def __init__(self, *, d_model: int, eps: Annotated[float, Range(0)]) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors."""
        return F.layer_norm(x, x.shape[-1:], eps=self.eps).to(x.dtype)


class RMSNorm(GainNorm):
    """Root mean square normalisation.

    Normalises each vector to unit root mean square, then applies a learned gain.

    Equation: gain * x / sqrt(mean(x^2) + eps).
    Source: arXiv:1910.07467, section 4.
    What differs: eps is added to the mean square; the paper has no eps.
    What to expect: the quality of layer_norm with half its parameters.
    """

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors."""
        normal = F.rms_norm(x.to(self.gain.dtype), self.gain.shape, self.gain, self.eps)
        return normal.to(x.dtype)


class StdEps(GainNorm):
    """The layer norm of tutorials, which divides by the unbiased standard deviation plus eps.

    Layer norm with the unbiased standard deviation and eps outside the root.

    Equation: gain * (x - mean) / (std + eps) + bias, where std divides the sum of squares by
        d_model - 1 (unbiased).
    Source: the Annotated Transformer (doi:10.18653/v1/W18-2509) and texts that follow it; the
        original layer norm is arXiv:1607.06450.
    What differs: the unbiased standard deviation makes outputs smaller by sqrt(1 - 1/d_model). eps
        (1e-6) is added to the standard deviation, where it has far less effect than 1e-5 added to
        the variance.
    What to expect: the results of layer_norm, except for vectors of almost no variance.
    """

    has_bias = True

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors."""
        centred = x - x.mean(-1, keepdim=True)
        # at a deviation of 0, torch's vector norm has a gradient, but a square root has none
        norm = torch.linalg.vector_norm(centred, dim=-1, keepdim=True)
        std = norm / (x.size(-1) - 1) ** 0.5
        return (self.gain * centred / (std + self.eps) + self.bias).to(x.dtype)


class DynamicTanh(Norm):
    """Dynamic tanh: a scaled tanh in place of a norm.

    A tanh of each channel with a learned steepness alpha, followed by a learned gain and bias.

    Equation: gain * tanh(alpha x) + bias; alpha is a learned number.
    Source: arXiv:2503.10622, section 4.
    What differs: alpha starts at `initial` in every norm of the model; for large language models,
        the paper tunes the initial value separately for attention and for other sub-layers.
    What to expect: the quality of layer_norm if alpha is tuned. There is no mean or variance over
        the channels: every channel is transformed separately.

    Args:
        d_model: width of the tokens.
        initial: initial value of alpha, the learned factor inside the tanh.
    """

    def __init__(self, *, d_model: int, initial: Annotated[float, Range(0)]) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor([float(initial)]))
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return gain * tanh(alpha x) + bias, in the dtype of x; `real` has no effect."""
        return (self.gain * torch.tanh(self.alpha * x) + self.bias).to(x.dtype)


class BatchNorm(Norm):
    """Batch normalisation over all tokens of a batch.

    Normalises each channel to zero mean and unit variance, then applies a learned gain and bias.

    Equation: gain * (x - mean) / sqrt(var + eps) + bias. In training, mean and var of each channel
        are taken over the tokens of the batch (var biased); in testing, their running averages are
        used.
    Source: arXiv:1502.03167, algorithms 1 and 2; in a Transformer: arXiv:2003.07845.
    What differs: with padding=left_out the statistics come from real tokens only, but padding is
        normalised too; padding=counted uses all tokens, as torch.nn.BatchNorm1d would. In training
        on several processes, each process has separate statistics, and the statistics of the first
        process are saved.
    What to expect: worse than layer_norm, as statistics of text vary between batches. In training,
        the output of each token depends through the statistics on all tokens of the batch, later
        ones included. In testing, it depends neither on later tokens nor on other sentences of the
        batch, and decoding step by step equals one parallel pass.

    Args:
        d_model: number of channels.
        eps: small constant added to the variance before the division by its root.
        momentum: weight of the newest batch in the running averages of mean and variance.
        padding: whether padding tokens enter mean and variance: left_out | counted.
    """

    mean: Tensor
    var: Tensor

    def __init__(
        self,
        *,
        d_model: int,
        eps: Annotated[float, Range(0)],
        momentum: Annotated[float, Range(0, 1)],
        padding: Annotated[str, OneOf(("left_out", "counted"))],
    ) -> None:
        super().__init__()
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
        if real is None or process.uses_cpu_path(x.device):
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


class NoNorm(Norm):
    """No normalisation.

    A layer that returns vectors unchanged, in place of a norm.

    Equation: y = x.
    Source: arXiv:1901.09321 (residual networks without normalisation need other initial values).
    What differs: the paper changes the initial values; here they stay as with norms.
    What to expect: the norm of the residual stream grows with depth; at a learning rate that suits
        normalised models, training is slower or diverges.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return x."""
        return x
