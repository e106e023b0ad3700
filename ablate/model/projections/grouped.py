"""Heads in groups that share keys and values (grouped-query and multi-query attention).

Equation: head h has the keys and values of group h // (n_heads / groups), which all heads of the
    group share; if `queries` is true, the heads of a group share queries as well.
Source: for one group, arXiv:1911.02150, section 3 (multi-query attention); for several groups,
    arXiv:2305.13245, section 2.2 (grouped-query attention).
What differs: Xavier initial values have the range of a linear map to all heads, so that a shared
    head starts no larger than a separate head. Keys and values are computed and stored for every
    head, so decoding needs as much memory as without groups. Option `one_set` shares queries too,
    which no source does.
What to expect: slightly below separate maps (arXiv:1911.02150, table 1). If all heads share
    queries, keys and values, their outputs are equal except for dropout of the attention weights.
"""

from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model.linear import Linear
from ablate.model.projections.base import Projections, Repeated


class Grouped(Projections):
    """Projections to fewer heads, which are repeated.

    Args:
        d_model: width of tokens.
        n_heads: number of heads.
        d_head: width of a head.
        groups: number of groups of heads that share keys and values; must divide `model.n_heads`.
        queries: whether the heads of a group share queries as well.
        output: output projection of the concatenated heads: learned | identity (none).

    Raises:
        UserError: `groups` does not divide n_heads, `output` has another value, or `output` is the
            identity although n_heads * d_head is not d_model.
    """

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        d_head: int,
        groups: Count,
        queries: bool,
        output: str,
    ) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        if n_heads % groups:
            raise UserError(
                f"model.projections.groups is {groups}: it must divide model.n_heads {n_heads}"
            )
        sizes = {"groups": groups, "times": n_heads // groups}
        self.key, self.value = (Repeated(d_model, d_head, **sizes) for _ in range(2))
        self.query = Linear(d_model, n_heads * d_head)
        if queries:
            self.query = Repeated(d_model, d_head, **sizes)
