"""Attention kernels whose weights do not depend on the tokens."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.errors import UserError
from ablate.model.attention import Bias, Kernel, Keys, Outputs, Queries, Values
from ablate.model.dropout import Dropout
from ablate.model.padding import Mask
from ablate.model.sublayer import unread


class Off(Kernel):
    """No attention: the output of every attention head is 0.

    An attention kernel that returns zeros.

    Equation: out = 0 for every head.
    Source: the removal of attention in ablations of the Transformer, as for heads in
        arXiv:1905.10650.
    What differs: the sub-layer stays, with its residual connection, its norm and all parameters;
        only the bias of the output projection has an effect.
    What to expect: in cross-attention, a language model that does not see the source; in
        self-attention, tokens without information about each other.

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


class Uniform(Kernel):
    """Uniform attention: the mean of all values that the mask allows.

    Attention that gives all allowed keys the same weight.

    Equation: out_i = sum over allowed j of v_j / (number of allowed j); zeros if no j is allowed.
    Source: "hard-coded" attention as a control: arXiv:2005.00742; a causal mean of values is the
        average attention of arXiv:1805.00631, section 3.
    What differs: values and the output are projected as in any head. Queries and keys keep their
        parameters, which have no effect, so that all arms have the same number of parameters.
    What to expect: attention cannot select tokens by order or content, so only the feed-forward
        layers distinguish tokens.

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


class FixedOffset(Kernel):
    """Attention to the token at a fixed distance.

    Attention of each query to a single key, at a fixed distance from the query.

    Equation: out_i = v_(i + offset); zeros if there is no such key, or if the mask forbids it.
    Source: the fixed patterns of arXiv:2002.10260, section 3 (previous token, next token).
    What differs: all heads have the same pattern, and no head learns its own. Queries and keys keep
        their parameters, which have no effect. In cross-attention, target i reads source i +
        offset.
    What to expect: with offset -1, every layer reaches one token further back, as in a convolution.

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
