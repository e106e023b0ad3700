"""The layer norm of tutorials, which divides by the unbiased standard deviation plus eps.

Equation: gain * (x - mean) / (std + eps) + bias, where std divides the sum of squares by d_model -
    1 (unbiased).
Source: the Annotated Transformer (doi:10.18653/v1/W18-2509) and texts that follow it; the
    original layer norm is arXiv:1607.06450.
What differs: the unbiased standard deviation makes outputs smaller by sqrt(1 - 1/d_model). eps
    (1e-6) is added to the standard deviation, where it has far less effect than 1e-5 added to the
    variance.
What to expect: the results of layer_norm, except for vectors of almost no variance.
"""

import torch

from ablate.model.norm.base import GainNorm, Real, Vectors


class StdEps(GainNorm):
    """Layer norm with the unbiased standard deviation and eps outside the root."""

    has_bias = True

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors."""
        centred = x - x.mean(-1, keepdim=True)
        # at a deviation of 0, torch's vector norm has a gradient, but a square root has none
        norm = torch.linalg.vector_norm(centred, dim=-1, keepdim=True)
        std = norm / (x.size(-1) - 1) ** 0.5
        return (self.gain * centred / (std + self.eps) + self.bias).to(x.dtype)
