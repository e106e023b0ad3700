"""Separate projections: a matrix each for queries, keys and values.

Equation: q = W_q x + b_q, k = W_k y + b_k, v = W_v y + b_v, cut into heads;
    out = W_o [heads] + b_o.
Source: arXiv:1706.03762, section 3.2.2; without W_o the projection-free blocks of
    arXiv:2311.01906, section 4.2.
What differs: there are biases, which the paper does not mention, but which its code and torch have.
    Option `no_output` returns the concatenated heads: W_o = 1, b_o = 0.
What to expect: option `separate` is the reference of this factor. Without W_o a head writes only to
    its own channels; the next layer mixes them, so that little is lost.
"""

from ablate.model.linear import Linear
from ablate.model.projections.base import Projections


class Separate(Projections):
    """Four separate linear maps: queries, keys, values and output.

    Args:
        d_model: width of tokens.
        n_heads: number of heads.
        d_head: width of a head.
        output: learned | identity.

    Raises:
        UserError: `output` has another value, or is the identity between unequal widths.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, output: str) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        self.query, self.key, self.value = (Linear(d_model, n_heads * d_head) for _ in range(3))
