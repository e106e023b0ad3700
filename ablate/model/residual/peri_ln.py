"""Peri-LN: a norm before the sub-layer and another norm after it.

Equation: y = x + norm'(dropout(sublayer(norm(x)))), and one norm at the end of each stack.
Source: arXiv:2502.02732, section 3; arXiv:2408.00118 (Gemma 2) has the same norms.
What differs: dropout comes before the second norm, so that the added vector has unit
    size in training and in testing; the paper trains without dropout.
What to expect: the added vectors cannot grow with depth, so gradients and activations are
    steadier than in Pre-LN; there are two norms for each sub-layer.
"""

from collections.abc import Callable

from torch import nn

from ablate.model.norm import Norm
from ablate.model.residual.base import Apply, Depth, Real, Residual, Stream, Tokens


class PeriLN(Residual):
    """A residual connection that normalises the input and the output of the sub-layer."""

    normalises_outputs = True

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__(norm=norm, dropout=dropout, depth=depth)
        self.output_norms = nn.ModuleList(norm() for _ in range(depth.sublayers))
        self.final_norm = norm()

    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return x + norm'(dropout(sublayer(norm(x))))."""
        output = self.dropout(sublayer(self.norms[i](stream, real)))
        return stream + self.output_norms[i](output, real)

    def norms_of(self, i: int) -> list[nn.Module]:
        """Return the norms before and after sub-layer number i."""
        return [self.norms[i], self.output_norms[i]]

    def leave(self, stream: Stream, real: Real) -> Tokens:
        """Return the residual stream after the last sub-layer, normalised by the final norm."""
        return self.final_norm(stream, real)
