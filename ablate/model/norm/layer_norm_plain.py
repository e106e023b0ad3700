"""Layer normalisation without gain and bias.

Equation: (x - mean) / sqrt(var + eps), where var is the sum of squares divided by d_model (biased).
Source: arXiv:1911.07013, section 3.1 ("LayerNorm-simple").
What differs: nothing.
What to expect: the quality of layer_norm or slightly better. According to the paper, gain and bias
    lead to overfitting.
"""

from typing import Annotated

from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.model.norm.base import Norm, Real, Vectors


class LayerNormPlain(Norm):
    """Normalises each vector to zero mean and unit variance."""

    def __init__(self, *, d_model: int, eps: Annotated[float, Range(0)]) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors."""
        return F.layer_norm(x, x.shape[-1:], eps=self.eps).to(x.dtype)
