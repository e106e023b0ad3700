"""Values of each layer alone.

Equation: v_n = W_n x_n.
Source: arXiv:1706.03762, section 3.2.2.
What differs: nothing.
What to expect: the reference of this factor.
"""

from ablate.model.values.base import Heads, Values


class Separate(Values):
    """Leaves values as they are."""

    def mix(self, v: Heads, earlier: list[Heads]) -> Heads:
        """Return the values of this layer."""
        return v
