"""Root mean square normalisation.

Equation: gain * x / sqrt(mean(x^2) + eps).
Source: arXiv:1910.07467, section 4.
What differs: eps is added to the mean square; the paper has no eps.
What to expect: the quality of layer_norm with half its parameters.
"""

from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.model.norm.base import Norm


class RMSNorm(Norm):
    """Normalises each vector to unit root mean square, then applies a learned gain."""

    def __init__(self, *, d_model: int, eps: Annotated[float, Range(0)]) -> None:
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))

    def forward(
        self, x: Float[Tensor, "*N D"], real: Bool[Tensor, "*N"] | None = None
    ) -> Float[Tensor, "*N D"]:
        """Return the normalised vectors."""
        normal = F.rms_norm(x, self.gain.shape, self.gain.to(x.dtype), self.eps)
        return normal.to(x.dtype)  # with autocast on a GPU, torch returns float32
