"""No feed-forward network: the sub-layer returns 0.

Equation: out = 0.
Source: arXiv:2103.03404, which studies attention alone; arXiv:1706.03762, section 3.3, for the
    network that is left out.
What differs: the residual connection and the norm around it stay, so that layers of all arms have
    the same number of norms. With residual=none the output would be constant.
What to expect: the highest loss of this factor, because softmax and norms are the only
    non-linearities left.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.model.feed_forward.base import FeedForward
from ablate.model.sublayer import unread


class NoFeedForward(FeedForward):
    """A sub-layer that returns zeros, so that nothing is added to the residual stream."""

    def __init__(self, *, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()

    def transform(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return zeros."""
        return unread(torch.zeros_like(x), x)
