"""No skip connection: sub-layers follow each other.

Equation: y = norm(dropout(sublayer(x))).
Source: arXiv:1512.03385, section 1, on plain stacks without skips; arXiv:2103.03404 on attention
    without skips, whose output loses rank doubly exponentially with depth.
What differs: this is Post-LN without the addition; the norm stays, so that only one thing changes.
    Those papers remove the skip from other networks.
What to expect: token identity fades with every attention layer; training is slow or fails.
"""

from ablate.model.residual.base import Apply, Real, Residual, Stream


class NoSkip(Residual):
    """Normalises the output of the sub-layer without adding its input."""

    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return norm(dropout(sublayer(x)))."""
        return self.norms[i](self.dropout(sublayer(stream)), real)
