"""Separate projections: queries, keys and values each have a matrix.

Equation: q = W_q x + b_q, k = W_k y + b_k, v = W_v y + b_v, cut into heads; out = W_o [concatenated
    heads] + b_o. x are the tokens with the queries, y the tokens with the keys.
Source: arXiv:1706.03762, section 3.2.2; without W_o the projection-free blocks of
    arXiv:2311.01906, section 4.2.
What differs: there are biases, which the paper does not mention, but which its code and torch have.
    Option `no_output` returns the concatenated heads: W_o = 1, b_o = 0.
What to expect: option `separate` is the reference of this factor. Without W_o each head writes only
    to its own channels. The next layer mixes all channels, so the loss is only slightly higher.
"""

from ablate.model.linear import Linear
from ablate.model.projections.base import Projections


class Separate(Projections):
    """Separate linear maps for queries, keys, values and output.

    Args:
        d_model: width of tokens.
        n_heads: number of heads.
        d_head: width of a head.
        output: output projection of the concatenated heads: learned | identity (none).

    Raises:
        UserError: `output` has another value, or is the identity although n_heads * d_head is not
            d_model.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, output: str) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        self.query, self.key, self.value = (Linear(d_model, n_heads * d_head) for _ in range(3))
