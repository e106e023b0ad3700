"""Attention to the token at a fixed distance.

Equation: out_i = v_(i + offset); zeros if there is no such key, or if the mask forbids it.
Source: the fixed patterns of arXiv:2002.10260, section 3 (previous token, next token).
What differs: all heads have the same pattern, and no head learns its own. Queries and keys keep
    their parameters, which have no effect. In cross-attention, target i reads source i + offset.
What to expect: with offset -1, every layer reaches one token further back, as in a convolution.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.errors import UserError
from ablate.model.attention.base import Bias, Kernel, Keys, Outputs, Queries, Values
from ablate.model.padding import Mask
from ablate.model.sublayer import unread


class FixedOffset(Kernel):
    """Attention of each query to a single key, at a fixed distance from the query.

    Args:
        d_head: width of a head, which has no effect here.
        dropout: not applied, because it would drop the only weight of a head.
        offset: distance from the query to the key in tokens; negative: the key is to the left.
    """

    has_shares = False  # the first queries may have no key
    reads_positions = True
    without_scores = "fixed_offset"

    def __init__(self, *, d_head: int, dropout: float, offset: int) -> None:
        super().__init__()
        self.offset = offset

    def check(self, *, causal: bool, biased: bool) -> None:
        """Check that no mask hides the key at the offset, and that positions add no bias to scores.

        Raises:
            UserError: the key is a later token, which a causal mask hides, or the position option
                adds a bias to attention scores, which this kernel does not compute.
        """
        super().check(causal=causal, biased=biased)
        if causal and self.offset > 0:
            raise UserError(
                f"model.attention.offset is {self.offset}: the causal mask of the decoder hides "
                "later tokens, so it must be at most 0 there"
            )

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return for each query the value of the key at the offset; zeros if there is no key."""
        queries = positions(mask.query_positions, q)
        keys = positions(mask.key_positions, k)
        weights = (keys[:, None, None, :] == queries[:, None, :, None] + self.offset).to(v.dtype)
        keep = mask.dense(q.size(2), k.size(2), q.device)
        if keep is not None:
            weights = weights * keep
        return unread(weights @ v, q, k)


def positions(given: Int[Tensor, "#B L"] | None, heads: Float[Tensor, "B H L E"]) -> Tensor:
    """Return token positions, "#B L": the given positions, or 0, 1, 2, ... if they are None.

    Args:
        given: the positions, if the mask has them.
        heads: queries or keys, which have L tokens.
    """
    return torch.arange(heads.size(2), device=heads.device)[None] if given is None else given
