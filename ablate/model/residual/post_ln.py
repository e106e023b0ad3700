"""Post-LN: the norm after the addition.

Equation: y = norm(x + dropout(sublayer(x))).
Source: arXiv:1706.03762, sections 3.1 and 5.4.
What differs: nothing; the stacks have no further norm (torch.nn.Transformer adds a norm at the end
    of each stack).
What to expect: at initialisation gradients are largest near the output (arXiv:2002.04745), so
    without learning-rate warm-up training often stays at the unigram distribution.
"""

from ablate.model.residual.base import Apply, Real, Residual, Stream


class PostLN(Residual):
    """A residual connection that adds the sub-layer's output to its input, then normalises."""

    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return norm(x + dropout(sublayer(x)))."""
        return self.norms[i](stream + self.dropout(sublayer(stream)), real)
