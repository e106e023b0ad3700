"""Dot-product attention with a learned scale.

Equation: weights = softmax(g q k^T); g starts at 1 / sqrt(d_head).
Source: arXiv:1706.03762, section 3.2.1, for the initial value; arXiv:2010.04245, section 3.2, for a
    learned factor.
What differs: arXiv:2010.04245 learns one g for the model, and normalises queries and keys. Here
    each attention sub-layer learns its own g, and queries and keys are not normalised.
What to expect: the results of the fixed divisor, because the projections of queries and keys can
    learn the same factor.
"""

import torch
from torch import Tensor, nn

from ablate.model.attention.base import Keys, Queries
from ablate.model.attention.explicit import Explicit, Scores


class LearnedScale(Explicit):
    """Attention by dot products times a learned factor g.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).

    Raises:
        UserError: `fill` has another value.
    """

    def __init__(self, *, d_head: int, dropout: float, fill: str) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale="none", fill=fill)
        self.factor = nn.Parameter(torch.tensor([d_head**-0.5]))
        self.initial = d_head**-0.5

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Set the factor g to its initial value, 1 / sqrt(d_head), in place."""
        nn.init.constant_(parameter, self.initial)

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Return g times the dot product of each query and key."""
        return self.factor * (q @ k.mT)
