"""Pre-LN: the norm before the sub-layer, the skip left free.

Equation: y = x + dropout(sublayer(norm(x))), and one norm at the end of each stack.
Source: arXiv:2002.04745, section 3; before that the authors' own tensor2tensor.
What differs: nothing; the final norm is part of this variant because x is a plain sum there.
What to expect: trains without warm-up; with warm-up and moderate depth no better than Post-LN,
    often slightly worse (arXiv:1910.05895).
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.norm.base import Norm
from ablate.model.residual.base import Residual, Sublayer


class PreLN(Residual):
    """Normalises what the sub-layer reads."""

    def forward(self, x: Float[Tensor, "B L D"], sublayer: Sublayer) -> Float[Tensor, "B L D"]:
        """Return x + dropout(sublayer(norm(x)))."""
        return x + self.dropout(sublayer(self.norm(x)))

    def final_norm(self, norm: Callable[[], Norm]) -> nn.Module:
        """Return the norm that ends the stack."""
        return norm()
