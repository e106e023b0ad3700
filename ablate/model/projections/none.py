"""No projections: tokens themselves are queries, keys and values.

Equation: q = x, k = v = y; where x are the tokens with the queries and y the tokens with the keys.
    Head h has channels h d_head to (h + 1) d_head; the output is the concatenation of the heads.
Source: arXiv:1711.07971, section 3.2 (scores of tokens that are not projected); values and output
    that are not projected: arXiv:2311.01906, section 4.2.
What differs: the first paper keeps projected values, the second keeps projected queries and keys;
    here attention has no parameters except the output projection, if it is learned. Products with
    an identity matrix take the same time as with a learned matrix.
What to expect: in self-attention, the score of a token with itself is its squared length, so a
    token mostly attends to itself. Scores are symmetric. The loss is higher than with learned
    queries and keys.
"""

from ablate.model.projections.base import Projections, identity


class NoProjections(Projections):
    """Projections that use the identity for queries, keys and values.

    Args:
        d_model: width of tokens; it must equal n_heads * d_head.
        n_heads: number of heads.
        d_head: width of a head.
        output: output projection of the concatenated heads: learned | identity (none).

    Raises:
        UserError: d_model is not n_heads * d_head, or `output` has another value.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, output: str) -> None:
        same = identity("model/projections=none", d_model, n_heads, d_head)
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        self.query = self.key = self.value = same
