"""Parallel block: attention and feed-forward network read the same input.

Equation: y = r(x, attention + feed-forward), where r is the residual connection. With Pre-LN: y = x
    + attention(norm(x)) + feed_forward(norm(x)), with a single norm.
Source: arXiv:2204.02311, section 2 (PaLM: parallel layers).
What differs: the block works with any residual connection, not only with Pre-LN. In the decoder of
    an encoder-decoder, cross-attention is parallel too, so it does not see the output of
    self-attention. The matrix products are not fused, so only the time of a norm is saved.
What to expect: a slightly higher loss in small models, and no difference in large models. Each
    layer has one norm less.
"""

from collections.abc import Collection

from ablate.model.block.base import Block


class Parallel(Block):
    """Puts all sub-layers of a layer under a single residual connection."""

    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return the number of all sub-layers, in a list of length 1."""
        return [len(sublayers)]
