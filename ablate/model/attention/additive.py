"""Additive attention: a small network with one hidden layer computes the scores.

Equation: score(q, k) = w tanh(q + k); weights = softmax(score).
Source: arXiv:1409.0473, appendix A.1.2: v_a tanh(W_a s + U_a h), where W_a and U_a are the
    projections to queries and keys.
What differs: there are several heads, as wide as those of dot-product attention; all heads share w.
What to expect: the quality of scaled dot-product attention (arXiv:1706.03762, section 3.2.1). It
    takes more time, and d_head times as much memory for scores.
"""

from typing import ClassVar

from torch import Tensor, nn

from ablate.model.attention.base import Keys, Queries
from ablate.model.attention.explicit import Explicit, Scores
from ablate.model.parametrisation import FanIn


class Additive(Explicit):
    """Attention whose scores come from a network with one hidden layer.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).

    Raises:
        UserError: `fill` has another value.
    """

    fan_in: ClassVar = {"score": FanIn.HEAD}

    def __init__(self, *, d_head: int, dropout: float, fill: str) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale="none", fill=fill)
        self.score = nn.Linear(d_head, 1, bias=False)

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Return w tanh(q + k) for each query and key."""
        hidden = (q[:, :, :, None] + k[:, :, None]).tanh()
        scores: Tensor = self.score(hidden).squeeze(-1)
        return scores
