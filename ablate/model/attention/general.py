"""Attention whose scores are a bilinear form of queries and keys.

Equation: score(q, k) = scale * q W k^T; weights = softmax(score).
Source: arXiv:1508.04025, section 3.1 ("general").
What differs: in the paper q and k are states of the networks. Here q and k are learned projections
    already, so W adds parameters but no function that the projections could not express. Heads
    share W.
What to expect: with the divisor sqrt(d_head) (option general_divided), the results of dot-product
    attention with other initial values. Without a divisor, as in the paper, the initial scores are
    so large that a model may learn nothing at a learning rate that suits the other options.
"""

from typing import ClassVar

from torch import nn

from ablate.model.attention.base import Keys, Queries
from ablate.model.attention.explicit import Explicit, Scores
from ablate.model.parametrisation import FanIn


class General(Explicit):
    """Attention by the scores q W k^T, with a learned matrix W.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).

    Raises:
        UserError: `scale` or `fill` has another value.
    """

    fan_in: ClassVar = {"form": FanIn.HEAD}

    def __init__(self, *, d_head: int, dropout: float, scale: str, fill: str) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale=scale, fill=fill)
        self.form = nn.Linear(d_head, d_head, bias=False)

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Return q W k^T for each query and key."""
        return super().scores(q, self.form(k))
