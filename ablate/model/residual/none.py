"""No skip: sub-layers simply follow each other.

Equation: y = norm(dropout(sublayer(x))).
Source: arXiv:1512.03385, section 1, for what plain stacking costs; arXiv:2103.03404 for attention
    without skips, whose output loses rank doubly exponentially with depth.
What differs: this is Post-LN with the addition taken out and the norm kept, so that one thing
    changes; those papers remove the skip from other networks.
What to expect: token identity fades with every attention layer; training is slow or fails.
"""

from jaxtyping import Float
from torch import Tensor

from ablate.model.residual.base import Residual, Sublayer


class NoSkip(Residual):
    """Normalises the sub-layer's output alone."""

    def forward(self, x: Float[Tensor, "B L D"], sublayer: Sublayer) -> Float[Tensor, "B L D"]:
        """Return norm(dropout(sublayer(x)))."""
        return self.norm(self.dropout(sublayer(x)))
