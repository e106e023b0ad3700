"""Attention without a softmax, whose past is one matrix of fixed size.

Equation: out_i = f(q_i) S_i / f(q_i) z_i, S_i = sum over allowed j of f(k_j)^T v_j, z_i of f(k_j);
    f(x) = elu(x) + 1, or x. Without `normalised` nothing is divided by.
Source: arXiv:2006.16236, section 3.2 (equations 7 to 9), and 3.4 for the recurrence.
What differs: in training all products f(q_i) f(k_j) are formed and masked, which gives the same
    numbers, takes time quadratic in the length, and lets dropout act on them; decoding keeps S and
    z, so a step takes the same time at every length. 1e-6 is added to the divisor.
What to expect: a few points below softmax where single keys have to be found. With f(x) = x the
    divisor may be close to 0 or negative: normalised, training may diverge.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.errors import UserError
from ablate.model.attention.base import Kernel, refuse_bias
from ablate.model.cache import State
from ablate.model.dropout import Dropout
from ablate.model.padding.base import Mask
from ablate.model.sublayer import Slots

FEATURE_MAPS = ("elu_plus_one", "identity")
EPS = 1e-6


class LinearAttention(Kernel):
    """Products of features in place of exponentials of scores.

    Args:
        d_head: width of a head.
        dropout: probability on the weights.
        feature_map: elu_plus_one | identity.
        normalised: divide by the sum of the weights.

    Raises:
        UserError: another feature map.
    """

    def __init__(self, *, d_head: int, dropout: float, feature_map: str, normalised: bool) -> None:
        super().__init__()
        if feature_map not in FEATURE_MAPS:
            raise UserError(
                f"model.attention.feature_map is {feature_map!r}: it must be one of {FEATURE_MAPS}"
            )
        self.feature_map = feature_map
        self.normalised = normalised
        self.has_shares = normalised and feature_map == "elu_plus_one"
        self.dropout = Dropout(dropout)

    def check(self, *, causal: bool, biased: bool) -> None:
        """Raise UserError for positions that are biases."""
        if biased:
            refuse_bias("linear")

    def features(self, x: Float[Tensor, "B H L E"]) -> Float[Tensor, "B H L E"]:
        """Return f(x), in float32 at least: sums of many terms are coarse in bfloat16."""
        x = x.to(torch.promote_types(x.dtype, torch.float32))
        return F.elu(x) + 1 if self.feature_map == "elu_plus_one" else x

    def forward(
        self,
        q: Float[Tensor, "B H Q E"],
        k: Float[Tensor, "B H K E"],
        v: Float[Tensor, "B H K W"],
        mask: Mask,
        bias: Float[Tensor, "#B #H #Q #K"] | None,
    ) -> Float[Tensor, "B H Q W"]:
        """Return the mixed values."""
        weights = self.features(q) @ self.features(k).mT
        keep = mask.dense(q.size(2), k.size(2), q.device)
        if keep is not None:
            weights = weights.masked_fill(~keep, 0.0)
        if self.normalised:
            weights = weights / (weights.sum(-1, keepdim=True) + EPS)
        return self.dropout(weights).to(v.dtype) @ v

    def cache(self, slots: Slots) -> State:
        """Return an empty sum."""
        return State()

    def step(
        self,
        q: Float[Tensor, "M H N E"],
        k: Float[Tensor, "M H N E"],
        v: Float[Tensor, "M H N W"],
        slots: Slots,
        cache: State,
        bias: Float[Tensor, "#M #H #N #K"] | None,
    ) -> Float[Tensor, "M H N W"]:
        """Return what the newest tokens read of the sums, with their own keys and values."""
        queries, keys = (self.features(x).transpose(1, 2) for x in (q, k))
        # the sum of values that are 1 is z
        values = F.pad(v.transpose(1, 2).to(keys.dtype), (0, 1), value=1.0)
        new = keys[..., :, None] * values[..., None, :]
        cache.value = new if cache.value is None else cache.value + new
        sums = (queries[..., None, :] @ cache.value).squeeze(-2).transpose(1, 2)
        out, total = sums[..., :-1], sums[..., -1:]
        return (out / (total + EPS) if self.normalised else out).to(v.dtype)
