"""Pre-LN: the norm comes before the sub-layer; the skip connection has no norm.

Equation: y = x + dropout(sublayer(norm(x))), and one norm at the end of each stack.
Source: arXiv:2002.04745, section 3; earlier in tensor2tensor, the code of the authors of the
    Transformer.
What differs: nothing. The norm at the end of the stack belongs to this option, because the sum x is
    never normalised before.
What to expect: trains without warm-up; with warm-up and moderate depth no better than Post-LN,
    often slightly worse (arXiv:1910.05895).
"""

from collections.abc import Callable

from ablate.model.norm import Norm
from ablate.model.residual.base import Apply, Depth, Real, Residual, Stream, Tokens


class PreLN(Residual):
    """A residual connection that normalises the input of the sub-layer."""

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__(norm=norm, dropout=dropout, depth=depth)
        self.final_norm = norm()

    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return x + dropout(sublayer(norm(x)))."""
        return stream + self.dropout(sublayer(self.norms[i](stream, real)))

    def leave(self, stream: Stream, real: Real) -> Tokens:
        """Return the residual stream after the last sub-layer, normalised by the final norm."""
        return self.final_norm(stream, real)
