"""No skip connection: sub-layers follow each other.

Equation: y = norm(dropout(sublayer(x))).
Source: arXiv:1512.03385, section 1, on networks without skip connections; arXiv:2103.03404 on
    attention without skip connections, whose output loses rank doubly exponentially with depth.
What differs: this is Post-LN without the addition; the norm stays, so that nothing else changes.
    The papers remove the skip connection from other networks.
What to expect: tokens become more alike with every attention layer; training is slow or fails.
"""

from ablate.model.residual.base import Apply, Real, Residual, Stream


class NoSkip(Residual):
    """A residual option without a skip connection: norm(dropout(sublayer(x)))."""

    normalises_outputs = True

    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return norm(dropout(sublayer(x)))."""
        return self.norms[i](self.dropout(sublayer(stream)), real)
