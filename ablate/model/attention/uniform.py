"""Uniform attention: the mean of all values that the mask allows.

Equation: out_i = sum over allowed j of v_j / (number of allowed j); zeros if no j is allowed.
Source: "hard-coded" attention as a control: arXiv:2005.00742; a causal mean of values is the
    average attention of arXiv:1805.00631, section 3.
What differs: values and the output are projected as in any head. Queries and keys keep their
    parameters, which have no effect, so that all arms have the same number of parameters.
What to expect: attention cannot select tokens by order or content, so only the feed-forward layers
    distinguish tokens.
"""

import torch

from ablate.model.attention.base import Bias, Kernel, Keys, Outputs, Queries, Values
from ablate.model.dropout import Dropout
from ablate.model.padding import Mask
from ablate.model.sublayer import unread


class Uniform(Kernel):
    """Attention that gives all allowed keys the same weight.

    Args:
        d_head: width of a head, which has no effect here.
        dropout: dropout probability of the attention weights.
    """

    without_scores = "uniform"

    def __init__(self, *, d_head: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return for each query the mean of its allowed values."""
        keep = mask.dense(q.size(2), k.size(2), q.device)
        if keep is None:
            keep = torch.ones(1, 1, q.size(2), k.size(2), dtype=torch.bool, device=q.device)
        weights = (keep / keep.sum(-1, keepdim=True).clamp(min=1)).to(v.dtype)
        return unread(self.dropout(weights.expand(*q.shape[:3], -1)) @ v, q, k)
