"""One sub-layer after the other.

Equation: x' = r(x, attention), y = r(x', feed-forward), r the residual connection with its norm.
Source: arXiv:1706.03762, section 3.1.
What differs: nothing.
What to expect: the reference of this factor.
"""

from collections.abc import Collection

from ablate.model.block.base import Block


class Serial(Block):
    """Gives each sub-layer a residual connection."""

    def sizes(self, sublayers: Collection[str]) -> list[int]:
        """Return one for each."""
        return [1] * len(sublayers)
