"""ResiDual: two residual streams, one normalised after every addition and one never.

Equation: f = dropout(sublayer(p)); p' = norm(p + f), q' = q + f. The streams p and q both start
    with the embedded tokens, and a stack returns p + norm(q).
Source: arXiv:2304.14802, section 3 (ResiDual).
What differs: there is dropout, as in the other residuals. The authors' code scales q so that half
    precision does not overflow; here q is not scaled.
What to expect: gradients reach every layer through q as in Pre-LN, and layers stay different as in
    Post-LN. It is as good as Post-LN, and also trains where Post-LN does not.
"""

from collections.abc import Callable

from ablate.model.norm import Norm
from ablate.model.residual.base import Apply, Depth, Real, Residual, Stream, Tokens


class Dual(Residual):
    """Residual connections with two streams: one is normalised after every addition, one never."""

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__(norm=norm, dropout=dropout, depth=depth)
        self.final_norm = norm()

    def enter(self, x: Tokens, real: Real) -> Stream:
        """Return the two residual streams (p, q), which both start with the embedded tokens.

        p is normalised after every addition, as in Post-LN, and q is never normalised.
        """
        return x, x

    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return the residual streams (norm(p + f), q + f), where `stream` is (p, q).

        f is the output of the sub-layer for p, after dropout.
        """
        post, plain = stream
        added = self.dropout(sublayer(post))
        return self.norms[i](post + added, real), plain + added

    def leave(self, stream: Stream, real: Real) -> Tokens:
        """Return p + norm(q) for the two residual streams (p, q) in `stream`."""
        post, plain = stream
        return post + self.final_norm(plain, real)
