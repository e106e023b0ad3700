"""Layer normalisation with a gain and without a bias.

Equation: gain * (x - mean) / sqrt(var + eps), where var is the sum of squares divided by d_model
    (biased).
Source: arXiv:2204.02311, section 2 ("No Biases"), and the code of nanoGPT.
What differs: nothing.
What to expect: the quality of layer_norm, because the linear maps after the norm have biases.
"""

from torch.nn import functional as F

from ablate.model.norm.base import GainNorm, Real, Vectors


class LayerNormNoBias(GainNorm):
    """Normalises each vector to zero mean and unit variance, then applies a learned gain."""

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors."""
        normal = F.layer_norm(x, self.gain.shape, self.gain, eps=self.eps)
        return normal.to(x.dtype)  # with autocast on a GPU, torch returns float32
