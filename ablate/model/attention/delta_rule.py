"""Linear attention with the delta rule: writing a key replaces the value stored under this key.

Equation: S_j = S_(j-1) + b_j f(k_j)^T (v_j - f(k_j) S_(j-1)), out_i = f(q_i) S_i;
    f(x) = (elu(x) + 1) / sum(elu(x) + 1), b_j = sigmoid(w k_j + c).
Source: arXiv:2102.11174, section 4.2 (equations 23 to 26).
What differs: f is elu + 1, not the paper's DPFP. b depends on the key, not on the token, and heads
    share w and c. Without a causal mask, all keys are written from left to right before any query
    reads; the paper does not treat this case. Attention dropout has no effect.
What to expect: better than linear attention if a key occurs again with another value. Keys are
    written one after the other, in training too, so time grows with the length. In cross-attention,
    every decoding step writes all source keys again.
"""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.model.attention.base import Bias, Kernel, Keys, New, NewValues, Outputs, Queries, Values
from ablate.model.cache import State
from ablate.model.padding import Mask
from ablate.model.parametrisation import FanIn
from ablate.model.sublayer import Slots


class DeltaRule(Kernel):
    """Linear attention with a matrix per head: keys and values are written to it, queries read it.

    Args:
        d_head: width of a head.
        dropout: not applied, because there are no attention weights.
    """

    has_shares = False
    keeps_pairs = False
    divides_by_root = False  # the feature map comes after a factor of the queries
    without_scores = "delta_rule"

    fan_in: ClassVar = {"strength": FanIn.HEAD}

    def __init__(self, *, d_head: int, dropout: float) -> None:
        super().__init__()
        self.strength = nn.Linear(d_head, 1)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return the values that the queries read from the matrix S of each head.

        Keys and values are written to S one after the other. Under a causal mask, a query reads S
        as it is after its own key has been written; without this mask, after all keys.
        """
        reading, writing = mask.sides(q.size(2), k.size(2), q.device)
        queries, keys, strength = features(q), features(k), self.strength(k).sigmoid() * writing
        state = keys.new_zeros(*keys.shape[:2], keys.size(3), v.size(3))
        states = []
        for j in range(k.size(2)):
            now = slice(j, j + 1)
            state = written(state, keys[:, :, now], v[:, :, now], strength[:, :, now])
            states.append(state)
        if mask.causal:
            out = (queries[:, :, :, None] @ torch.stack(states, 2)).squeeze(3)
        else:
            out = queries @ state
        return (out * reading).to(v.dtype)

    def cache(self, slots: Slots) -> State:
        """Return an empty cache for the matrix S of each head."""
        return State()

    def step(
        self, q: New, k: New, v: NewValues, slots: Slots, cache: State, bias: Bias | None
    ) -> Outputs:
        """Return the values that the newest queries read, after the newest keys are written."""
        queries, keys, values, strength = (
            x.transpose(1, 2)[:, :, :, None]
            for x in (features(q), features(k), v, self.strength(k).sigmoid())
        )
        if cache.value is None:
            cache.value = keys.new_zeros(*keys.shape[:3], keys.size(4), v.size(3))
        cache.value = written(cache.value, keys, values, strength)
        return (queries @ cache.value).squeeze(3).transpose(1, 2).to(v.dtype)


def features(x: Float[Tensor, "*N E"]) -> Float[Tensor, "*N E"]:
    """Return f(x) = (elu(x) + 1) / sum(elu(x) + 1), in float32 or wider.

    In bfloat16 long sums of features would be inaccurate.
    """
    positive = F.elu(x.to(torch.promote_types(x.dtype, torch.float32))) + 1
    return positive / positive.sum(-1, keepdim=True)


def written(
    state: Float[Tensor, "*N E W"],
    key: Float[Tensor, "*N 1 E"],
    value: Float[Tensor, "*N 1 W"],
    strength: Float[Tensor, "*N 1 1"],
) -> Float[Tensor, "*N E W"]:
    """Return the matrix `state` after one key and its value have been written to it.

    The strength (0 to 1) is the fraction of the old value that the new value replaces.
    """
    return state + key.mT @ (strength * (value - key @ state))
