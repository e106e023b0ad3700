"""Attention and feed-forward side by side.

Equation: y = r(x, attention + feed-forward); in Pre-LN y = x + attention(norm(x)) +
    feed_forward(norm(x)), with one norm.
Source: arXiv:2204.02311, section 2 (PaLM: parallel layers).
What differs: any residual connection, not Pre-LN alone. In the decoder of an encoder-decoder
    cross-attention stands beside the two, so that it does not see what self-attention has read. The
    products of the two are not fused into one, so that no time is saved but for a norm.
What to expect: a little worse in small models and no worse in large ones; one norm less in each
    layer.
"""

from collections.abc import Collection

from ablate.model.block.base import Block


class Parallel(Block):
    """Gives all sub-layers of a layer one residual connection."""

    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return their number."""
        return [len(sublayers)]
