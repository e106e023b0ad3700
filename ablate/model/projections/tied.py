"""Queries, keys or values that share a matrix.

Equation: `queries_keys`: W_q = W_k; `keys_values`: W_k = W_v; `all`: W_q = W_k = W_v; biases as
    well.
Source: `queries_keys`: arXiv:2001.04451, section 2 (shared-QK). `all`: arXiv:2412.00359.
    `keys_values` and the other two: arXiv:2606.04032.
What differs: arXiv:2001.04451 normalises keys and forbids a token to attend to itself; here keys
    are not normalised, and a token may attend to itself. arXiv:2412.00359 learns a diagonal matrix
    for each of the three uses.
What to expect: attention has a quarter fewer weights; with `all`, it has half as many. With
    queries_keys scores are symmetric before positions rotate or bias them, and a token's score with
    itself is large. The attention weights are not symmetric, because each query is normalised
    separately.
"""

from ablate.config.limits import check_one_of
from ablate.model.linear import Linear
from ablate.model.projections.base import Projections

MAPS = ("queries_keys", "keys_values", "all")


class Tied(Projections):
    """Projections in which two or three of the linear maps share their weights.

    Args:
        d_model: width of tokens.
        n_heads: number of heads.
        d_head: width of a head.
        maps: linear maps that share weights: queries_keys | keys_values | all.
        output: output projection of the concatenated heads: learned | identity (none).

    Raises:
        UserError: `maps` or `output` has another value, or `output` is the identity although
            n_heads * d_head is not d_model.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, maps: str, output: str) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        check_one_of("model.projections.maps", maps, MAPS)
        self.query, self.value = (Linear(d_model, n_heads * d_head) for _ in range(2))
        if maps == "all":
            self.value = self.query
        self.key = self.value if maps == "keys_values" else self.query
