"""Layer normalisation.

Equation: gain * (x - mean) / sqrt(var + eps) + bias, where var is the sum of squares divided by
    d_model (biased). Source: arXiv:1607.06450, equation 4. What differs: nothing. What to expect:
    this is the reference option of the factor.
"""

from torch.nn import functional as F

from ablate.model.norm.base import GainNorm, Real, Vectors


class LayerNorm(GainNorm):
    """Normalises vectors to zero mean and unit variance, then applies a learned gain and bias."""

    has_bias = True

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors."""
        normal = F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)
        return normal.to(x.dtype)  # with autocast on a GPU, torch returns float32
