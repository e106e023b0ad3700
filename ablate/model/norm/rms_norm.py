"""Root mean square normalisation.

Equation: gain * x / sqrt(mean(x^2) + eps).
Source: arXiv:1910.07467, section 4.
What differs: eps is added to the mean square; the paper has no eps.
What to expect: the quality of layer_norm with half its parameters.
"""

from torch.nn import functional as F

from ablate.model.norm.base import GainNorm, Real, Vectors


class RMSNorm(GainNorm):
    """Normalises each vector to unit root mean square, then applies a learned gain."""

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors."""
        normal = F.rms_norm(x.to(self.gain.dtype), self.gain.shape, self.gain, self.eps)
        return normal.to(x.dtype)
