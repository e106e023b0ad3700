"""Serial block: sub-layers follow each other.

Equation: x' = r(x, attention), y = r(x', feed-forward), where r is the residual connection with its
    norm.
Source: arXiv:1706.03762, section 3.1. What differs: nothing. What to expect: this is the reference
option of the factor.
"""

from collections.abc import Collection

from ablate.model.block.base import Block


class Serial(Block):
    """Gives each sub-layer a residual connection of its own."""

    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return a list of ones: each residual connection has exactly one sub-layer."""
        return [1] * len(sublayers)
