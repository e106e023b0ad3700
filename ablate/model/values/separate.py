"""Separate values: the self-attention of each layer averages only the values of this layer.

Equation: v_n = W_n x_n.
Source: arXiv:1706.03762, section 3.2.2.
What differs: nothing.
What to expect: this is the reference option of the factor.
"""

from ablate.model.values.base import Heads, Values


class Separate(Values):
    """An option that returns the values of a layer unchanged."""

    def mix(self, v: Heads, earlier: list[Heads]) -> Heads:
        """Return v, the values of this layer."""
        return v
