"""Queries, keys or values that share a matrix.

Equation: `queries_keys`: W_q = W_k; `keys_values`: W_k = W_v; `all`: W_q = W_k = W_v; biases as
    well.
Source: queries_keys arXiv:2001.04451, section 2 (shared-QK); all arXiv:2412.00359 (one matrix for
    the three); keys_values, beside the others, arXiv:2606.04032.
What differs: keys keep their length, which the first divides by, and a token may attend to itself;
    the second learns a diagonal matrix for each of the three uses.
What to expect: a quarter of attention's weights less, with `all` half of them. With queries_keys
    scores are symmetric before positions turn or bias them, and a token's score with itself is
    large; weights are not symmetric, as each query has its own sum.
"""

from ablate.errors import UserError
from ablate.model.linear import Linear
from ablate.model.projections.base import Projections

MAPS = ("queries_keys", "keys_values", "all")


class Tied(Projections):
    """One map with two or three uses.

    Args:
        d_model: width of tokens.
        n_heads: number of heads.
        d_head: width of one.
        maps: queries_keys | keys_values | all.
        output: learned | identity.

    Raises:
        UserError: other maps or another output, or an identity between unequal widths.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, maps: str, output: str) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        if maps not in MAPS:
            raise UserError(f"model.projections.maps is {maps!r}: it must be one of {MAPS}")
        self.query, self.value = (Linear(d_model, n_heads * d_head) for _ in range(2))
        if maps == "all":
            self.value = self.query
        self.key = self.value if maps == "keys_values" else self.query
