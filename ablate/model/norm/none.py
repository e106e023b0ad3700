"""No normalisation.

Equation: y = x.
Source: arXiv:1901.09321 (residual networks without normalisation need other initial values).
What differs: the paper changes the initial values; here they stay as with norms.
What to expect: the norm of the residual stream grows with depth; at a learning rate that suits
    normalised models, training is slower or diverges.
"""

from ablate.model.norm.base import Norm, Real, Vectors


class NoNorm(Norm):
    """A layer that returns vectors unchanged, in place of a norm."""

    def __init__(self, *, d_model: int) -> None:
        super().__init__()

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return x."""
        return x
