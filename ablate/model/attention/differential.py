"""Differential attention: the difference of two softmaxes.

Equation: halves q1, q2 and k1, k2 of queries and keys; o = (softmax(s q1 k1^T) - lambda softmax(s
    q2 k2^T)) v, s = sqrt(d_head / 2)^-1; out = (1 - lambda_0) rms_norm(o) for each head, with a
    learned gain that heads share; lambda = exp(a1 b1) - exp(a2 b2) + lambda_0, four learned vectors
    for each layer; lambda_0 = 0.8 - 0.6 exp(-0.3 l) in layer l, counted from 0.
Source: arXiv:2410.05258, section 2.1.
What differs: the paper halves the number of heads and doubles their width. Here the number of heads
    stays, and queries and keys are compared over d_head / 2 channels. For the paper's sizes, set
    model.n_heads to half the number of the baseline. Each half of a head consists of every second
    pair of channels, so that both halves contain pairs that rotary positions rotate slowly and
    pairs that they rotate fast.
What to expect: attention with less noise on irrelevant tokens; it computes two softmaxes instead of
    one and has 3 d_head more parameters in each layer.
"""

from math import exp
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.model.attention.base import Bias, Kernel, Keys, Outputs, Queries, Values
from ablate.model.attention.fused import Fused
from ablate.model.padding import Mask

STD = 0.1  # standard deviation of the vectors of lambda, as in the authors' code


class Differential(Kernel):
    """Attention by the difference of two softmaxes, each from one half of the channels of a head.

    Args:
        d_head: width of a head, a multiple of 4.
        dropout: dropout probability of the attention weights.
        eps: small constant added to the mean square of a head before the division by its root.

    Raises:
        UserError: `d_head` is not a multiple of 4.
    """

    has_shares = False  # weights may be negative
    divides_by_root = False  # lambda is a product of vectors, which is not divided
    has_weights = False  # the norm of the outputs is not linear in the values

    def __init__(self, *, d_head: int, dropout: float, eps: Annotated[float, Range(0)]) -> None:
        super().__init__()
        if d_head % 4:
            raise UserError(
                f"model.d_head is {d_head}: model/attention=differential splits each head into two "
                "halves of channel pairs, so model.d_head must be a multiple of 4"
            )
        self.fused = Fused(
            d_head=d_head // 2, dropout=dropout, scale="sqrt_d_head", fill="zero_output"
        )
        self.eps = eps
        self.initial = 0.2
        # the rows are the vectors a1, b1, a2, b2 of lambda
        self.vectors = nn.Parameter(torch.empty(4, d_head // 2))
        self.gain = nn.Parameter(torch.ones(d_head))

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Set lambda_0, the constant part of lambda, which grows with the number of the layer."""
        self.initial = 0.8 - 0.6 * exp(-0.3 * layer)

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Initialise a parameter in place.

        The vectors from which lambda is computed are random, and the gain of the norm is 1.
        """
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=STD, generator=generator)
        else:
            nn.init.ones_(parameter)

    def weight(self) -> Float[Tensor, ""]:
        """Return lambda, the weight of the second softmax."""
        wide = torch.promote_types(self.vectors.dtype, torch.float32)
        a, b = self.vectors.to(wide).view(2, 2, -1).unbind(1)
        first, second = (a * b).sum(1).exp().unbind()
        return first - second + self.initial

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return the normalised outputs of the heads, times (1 - lambda_0)."""
        parts = zip(halves(q), halves(k), strict=True)
        kept, noise = (self.fused(*part, v, mask, bias) for part in parts)
        mixed = kept - self.weight().to(noise.dtype) * noise
        wide = mixed.to(self.gain.dtype)
        normal = F.rms_norm(wide, self.gain.shape, self.gain, self.eps).to(v.dtype)
        return (1 - self.initial) * normal


def halves(heads: Float[Tensor, "B H L E"]) -> tuple[Tensor, ...]:
    """Return two halves of the channels: the even-numbered pairs and the odd-numbered pairs."""
    pairs = heads.view(*heads.shape[:-1], heads.size(-1) // 4, 2, 2)
    return tuple(half.flatten(-2) for half in pairs.unbind(-2))
