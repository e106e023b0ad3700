"""Linear attention: no softmax, so that a matrix of fixed size can summarise all past tokens.

Equation: out_i = f(q_i) S_i / f(q_i) z_i, where S_i is the sum over allowed j of f(k_j)^T v_j, and
    z_i the sum of f(k_j); f(x) = elu(x) + 1, or x. If `normalised` is false, there is no division.
Source: arXiv:2006.16236, section 3.2 (equations 7 to 9), and 3.4 for the recurrence.
What differs: training forms all products f(q_i) f(k_j) and masks them. This gives the same numbers
    and lets dropout act on the weights, but takes time quadratic in the length. Decoding keeps S
    and z, so a step takes the same time at every length. 1e-6 is added to the divisor.
What to expect: a few points below softmax attention on tasks in which a query must attend to a
    single key. With f(x) = x the divisor may be close to 0 or negative, so training may diverge if
    `normalised` is true.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import check_one_of
from ablate.model.attention.base import Bias, Kernel, Keys, New, NewValues, Outputs, Queries, Values
from ablate.model.cache import State
from ablate.model.dropout import Dropout
from ablate.model.padding import Mask
from ablate.model.sublayer import Slots

FEATURE_MAPS = ("elu_plus_one", "identity")
EPS = 1e-6


class LinearAttention(Kernel):
    """Attention by products of feature vectors instead of exponentials of scores.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        feature_map: function that maps queries and keys to features: elu_plus_one (elu(x) + 1) |
            identity.
        normalised: whether the output is divided by the sum of the attention weights.

    Raises:
        UserError: `feature_map` has another value.
    """

    divides_by_root = False  # the feature map comes after a factor of the queries
    without_scores = "linear"

    def __init__(self, *, d_head: int, dropout: float, feature_map: str, normalised: bool) -> None:
        super().__init__()
        check_one_of("model.attention.feature_map", feature_map, FEATURE_MAPS)
        self.feature_map = feature_map
        self.normalised = normalised
        self.has_shares = normalised and feature_map == "elu_plus_one"
        self.dropout = Dropout(dropout)

    def features(self, x: Float[Tensor, "B H L E"]) -> Float[Tensor, "B H L E"]:
        """Return the features f(x), in float32 or wider.

        In bfloat16 long sums of features would be inaccurate.
        """
        x = x.to(torch.promote_types(x.dtype, torch.float32))
        return F.elu(x) + 1 if self.feature_map == "elu_plus_one" else x

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        weights = self.features(q) @ self.features(k).mT
        keep = mask.dense(q.size(2), k.size(2), q.device)
        if keep is not None:
            weights = weights.masked_fill(~keep, 0.0)
        if self.normalised:
            weights = weights / (weights.sum(-1, keepdim=True) + EPS)
        return self.dropout(weights).to(v.dtype) @ v

    def cache(self, slots: Slots) -> State:
        """Return an empty cache for the sums S and z of each head."""
        return State()

    def step(
        self, q: New, k: New, v: NewValues, slots: Slots, cache: State, bias: Bias | None
    ) -> Outputs:
        """Return the outputs of the heads, after adding the newest keys and values to the sums."""
        queries, keys = (self.features(x).transpose(1, 2) for x in (q, k))
        # with a further value of 1, z is the last column of the sum S
        values = F.pad(v.transpose(1, 2).to(keys.dtype), (0, 1), value=1.0)
        new = keys[..., :, None] * values[..., None, :]
        cache.value = new if cache.value is None else cache.value + new
        sums = (queries[..., None, :] @ cache.value).squeeze(-2).transpose(1, 2)
        out, total = sums[..., :-1], sums[..., -1:]
        return (out / (total + EPS) if self.normalised else out).to(v.dtype)
