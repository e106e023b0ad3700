"""No projections: tokens themselves are queries, keys and values.

Equation: q = x, k = v = y; head h has channels h d_head to (h + 1) d_head; out = [heads].
Source: arXiv:1711.07971, section 3.2 (scores of tokens that are not embedded); values and output
    that are not projected: arXiv:2311.01906, section 4.2.
What differs: the first paper keeps projected values, the second keeps projected queries and keys;
    here attention itself has no parameters. Products with an identity matrix take the time
    of learned ones.
What to expect: in self-attention, the score of a token with itself is its squared length, so that
    it mostly attends to itself; scores are symmetric; worse than all options with learned queries
    and keys.
"""

from ablate.model.projections.base import Projections, identity


class NoProjections(Projections):
    """The identity in place of all maps to heads.

    Args:
        d_model: width of tokens; n_heads * d_head.
        n_heads: number of heads.
        d_head: width of a head.
        output: learned | identity.

    Raises:
        UserError: the widths are not equal, or `output` has another value.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, output: str) -> None:
        same = identity("model/projections=none", d_model, n_heads, d_head)
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        self.query = self.key = self.value = same
