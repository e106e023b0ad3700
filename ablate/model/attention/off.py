"""No attention: the output of every attention head is 0.

Equation: out = 0 for every head.
Source: the removal of attention in ablations of the Transformer, as for heads in arXiv:1905.10650.
What differs: the sub-layer stays, with its residual connection, its norm and all parameters; only
    the bias of the output projection has an effect.
What to expect: in cross-attention, a language model that does not see the source; in
    self-attention, tokens without information about each other.
"""

import torch

from ablate.model.attention.base import Bias, Kernel, Keys, Outputs, Queries, Values
from ablate.model.padding import Mask
from ablate.model.sublayer import unread


class Off(Kernel):
    """An attention kernel that returns zeros.

    Args:
        d_head: width of a head, which has no effect here.
        dropout: has no effect, because there are no weights.
    """

    has_shares = False

    def __init__(self, *, d_head: int, dropout: float) -> None:
        super().__init__()

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return zeros."""
        zeros = torch.zeros(*q.shape[:3], v.size(3), dtype=v.dtype, device=v.device)
        return unread(zeros, q, k, v)
