"""Parallel block: attention and feed-forward network read the same tokens.

Equation: y = r(x, attention + feed-forward), r the residual connection; in Pre-LN y = x +
    attention(norm(x)) + feed_forward(norm(x)), with a single norm.
Source: arXiv:2204.02311, section 2 (PaLM: parallel layers).
What differs: it works with any residual connection, not with Pre-LN alone. In the decoder of an
    encoder-decoder, cross-attention is parallel too, so it does not see the output of
    self-attention. The matrix products are not fused, so only the time of a norm is saved.
What to expect: a little worse in small models and no worse in large ones; one norm fewer in each
    layer.
"""

from collections.abc import Collection

from ablate.model.block.base import Block


class Parallel(Block):
    """Puts all sub-layers of a layer under a single residual connection."""

    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return a list with the number of all sub-layers."""
        return [len(sublayers)]
