"""Post-LN: the norm after the addition.

Equation: y = norm(x + dropout(sublayer(x))).
Source: arXiv:1706.03762, sections 3.1 and 5.4.
What differs: nothing; the stacks have no further norm (torch.nn.Transformer adds one to each).
What to expect: at initialisation gradients are largest near the output (arXiv:2002.04745), so
    without learning-rate warm-up training often stays at the unigram distribution.
"""

from jaxtyping import Float
from torch import Tensor

from ablate.model.residual.base import Residual, Sublayer


class PostLN(Residual):
    """Adds, then normalises."""

    def forward(self, x: Float[Tensor, "B L D"], sublayer: Sublayer) -> Float[Tensor, "B L D"]:
        """Return norm(x + dropout(sublayer(x)))."""
        return self.norm(x + self.dropout(sublayer(x)))
