"""No skip: sub-layers simply follow each other.

Equation: y = norm(dropout(sublayer(x))).
Source: arXiv:1512.03385, section 1, for what plain stacking costs; arXiv:2103.03404 for attention
    without skips, whose output loses rank doubly exponentially with depth.
What differs: this is Post-LN with the addition taken out and the norm kept, so that one thing
    changes; those papers remove the skip from other networks.
What to expect: token identity fades with every attention layer; training is slow or fails.
"""

from ablate.model.residual.base import Apply, Real, Residual, Stream


class NoSkip(Residual):
    """Normalises the sub-layer's output alone."""

    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return norm(dropout(sublayer(x)))."""
        return self.norms[i](self.dropout(sublayer(stream)), real)
