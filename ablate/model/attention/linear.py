"""Attention kernels with a fixed state or number of keys, or with a difference of two softmaxes."""

from math import exp
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import Count, OneOf, Range
from ablate.errors import UserError
from ablate.model import State
from ablate.model.attention import Bias, Kernel, Keys, New, NewValues, Outputs, Queries, Values
from ablate.model.attention.explicit import Explicit, Scale
from ablate.model.attention.fused import Fused
from ablate.model.layers import Dropout
from ablate.model.padding import Mask
from ablate.model.parametrisation import FanIn
from ablate.model.stack import Slots

FeatureMap = Annotated[str, OneOf(("elu_plus_one", "identity"))]
EPS = 1e-6


class LinearAttention(Kernel):
    """Linear attention: no softmax, so that a matrix of fixed size can summarise all past tokens.

    Attention by products of feature vectors instead of exponentials of scores.

    Equation: out_i = f(q_i) S_i / f(q_i) z_i, where S_i is the sum over allowed j of f(k_j)^T v_j,
        and z_i the sum of f(k_j); f(x) = elu(x) + 1, or x. If `normalised` is false, there is no
        division.
    Source: arXiv:2006.16236, section 3.2 (equations 7 to 9), and 3.4 for the recurrence.
    What differs: training forms all products f(q_i) f(k_j) and masks them. This gives the same
        numbers and lets dropout act on the weights, but takes time quadratic in the length.
        Decoding keeps S and z, so a step takes the same time at every length. 1e-6 is added to the
        divisor.
    What to expect: a few points below softmax attention on tasks in which a query must attend to a
        single key. With f(x) = x the divisor may be close to 0 or negative, so training may diverge
        if `normalised` is true.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        feature_map: function that maps queries and keys to features: elu_plus_one (elu(x) + 1) |
            identity.
        normalised: whether the output is divided by the sum of the attention weights.
    """

    suits_mup = False  # the feature map comes after a factor of the queries
    without_scores = "linear"

    def __init__(
        self, *, d_head: int, dropout: float, feature_map: FeatureMap, normalised: bool
    ) -> None:
        super().__init__()
        self.feature_map = feature_map
        self.normalised = normalised
        self.weights_are_probabilities = normalised and feature_map == "elu_plus_one"
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


class DeltaRule(Kernel):
    """Linear attention with the delta rule: writing a key replaces the value stored under this key.

    Linear attention with a matrix per head: keys and values are written to it, queries read it.

    Equation: S_j = S_(j-1) + b_j f(k_j)^T (v_j - f(k_j) S_(j-1)), out_i = f(q_i) S_i; f(x) =
        (elu(x) + 1) / sum(elu(x) + 1), b_j = sigmoid(w k_j + c).
    Source: arXiv:2102.11174, section 4.2 (equations 23 to 26).
    What differs: f is elu + 1, not the paper's DPFP. b depends on the key, not on the token, and
        heads share w and c. Without a causal mask, all keys are written from left to right before
        any query reads; the paper does not treat this case. Attention dropout has no effect.
    What to expect: better than linear attention if a key occurs again with another value. Keys are
        written one after the other, in training too, so time grows with the length. In
        cross-attention, every decoding step writes all source keys again.

    Args:
        d_head: width of a head.
        dropout: not applied, because there are no attention weights.
    """

    weights_are_probabilities = False
    keeps_pairs = False
    suits_mup = False  # the feature map comes after a factor of the queries
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
            state = write(state, keys[:, :, now], v[:, :, now], strength[:, :, now])
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
        cache.value = write(cache.value, keys, values, strength)
        return (queries @ cache.value).squeeze(3).transpose(1, 2).to(v.dtype)


def features(x: Float[Tensor, "*N E"]) -> Float[Tensor, "*N E"]:
    """Return f(x) = (elu(x) + 1) / sum(elu(x) + 1), in float32 or wider.

    In bfloat16 long sums of features would be inaccurate.
    """
    positive = F.elu(x.to(torch.promote_types(x.dtype, torch.float32))) + 1
    return positive / positive.sum(-1, keepdim=True)


def write(
    state: Float[Tensor, "*N E W"],
    key: Float[Tensor, "*N 1 E"],
    value: Float[Tensor, "*N 1 W"],
    strength: Float[Tensor, "*N 1 1"],
) -> Float[Tensor, "*N E W"]:
    """Return the matrix `state` after one key and its value have been written to it.

    The strength (0 to 1) is the fraction of the old value that the new value replaces.
    """
    return state + key.mT @ (strength * (value - key @ state))


class Linformer(Explicit):
    """Linformer: attention to a fixed number of linear combinations of keys and values.

    Attention to projections of keys and values along the sequence.

    Equation: softmax(scale * q (E k)^T) F v, with learned matrices E and F of `rank` rows and
        `max_length` columns; n keys use the first n columns.
    Source: arXiv:2006.04768, section 4, equation 7.
    What differs: heads share E and F, and each layer has its own; keys and values at padding are
        set to 0 before the projection. Initial values are Xavier uniform; the proof of the paper's
        theorem 1 assumes variance 1 / rank.
    What to expect: memory and time linear in the number of keys. Each linear combination contains
        tokens of the whole sequence, so there is no causal form.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        rank: number of linear combinations that replace the keys and values of a sequence.
        max_length: maximum number of tokens in a sequence, EOS or BOS counted.
    """

    weights_are_probabilities = False
    keeps_pairs = False
    without_scores = "linformer"

    def __init__(
        self, *, d_head: int, dropout: float, scale: Scale, rank: Count, max_length: Count
    ) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale=scale, fill="zero_output")
        self.longest = max_length
        self.key_mixtures = nn.Parameter(torch.empty(rank, max_length))
        self.value_mixtures = nn.Parameter(torch.empty(rank, max_length))

    def check(self, *, causal: bool, biased: bool) -> None:
        """Raise UserError for a causal mask, and for positions that add a bias to the scores."""
        if causal:
            raise UserError(
                "model/attention=linformer mixes keys of all positions, so that the causal mask "
                "of the decoder cannot hide later ones: choose it for the other attentions, by "
                "model/attention@model.encoder.attention=linformer or "
                "model/attention@model.cross.attention=linformer"
            )
        super().check(causal=causal, biased=biased)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the projected values.

        Raises:
            UserError: a key beyond the first `max_length` keys is not padding.
        """
        reading, writing = mask.sides(q.size(2), k.size(2), q.device)
        n = min(k.size(2), self.key_mixtures.size(1))
        if n < k.size(2) and writing[:, :, n:].any():
            raise UserError(
                f"a sequence of {k.size(2)} tokens does not fit model.attention.max_length={n}: "
                "set it to the longest sequence, or choose another model/attention"
            )
        keys, values = (
            mixtures[:, :n] @ (x * writing)[:, :, :n]
            for mixtures, x in ((self.key_mixtures, k), (self.value_mixtures, v))
        )
        return super().forward(q, keys, values, Mask(), None) * reading


STD = 0.1  # standard deviation of the vectors of lambda, as in the authors' code


class Differential(Kernel):
    """Differential attention: the difference of two softmaxes.

    Attention by the difference of two softmaxes, each from one half of the channels of a head.

    Equation: halves q1, q2 and k1, k2 of queries and keys; o = (softmax(s q1 k1^T) - lambda
        softmax(s q2 k2^T)) v, s = sqrt(d_head / 2)^-1; out = (1 - lambda_0) rms_norm(o) for each
        head, with a learned gain that heads share; lambda = exp(a1 b1) - exp(a2 b2) + lambda_0,
        four learned vectors for each layer; lambda_0 = 0.8 - 0.6 exp(-0.3 l) in layer l, counted
        from 0.
    Source: arXiv:2410.05258, section 2.1.
    What differs: the paper halves the number of heads and doubles their width. Here the number of
        heads stays, and queries and keys are compared over d_head / 2 channels. For the paper's
        sizes, set model.n_heads to half the number of the baseline. Each half of a head consists of
        every second pair of channels, so that both halves contain pairs that rotary positions
        rotate slowly and pairs that they rotate fast.
    What to expect: attention with less noise on irrelevant tokens; it computes two softmaxes
        instead of one and has 3 d_head more parameters in each layer.

    Args:
        d_head: width of a head, a multiple of 4.
        dropout: dropout probability of the attention weights.
        eps: small constant added to the mean square of a head before the division by its root.

    Raises:
        UserError: `d_head` is not a multiple of 4.
    """

    weights_are_probabilities = False  # weights may be negative
    suits_mup = False  # lambda is a product of vectors, which is not divided
    has_weights = False  # the norm of the outputs is not linear in the values

    def __init__(self, *, d_head: int, dropout: float, eps: Annotated[float, Range(0)]) -> None:
        super().__init__()
        if d_head % 4:
            raise UserError(
                f"model.d_head is {d_head}: model/attention=differential splits each head into two "
                "halves of channel pairs, so model.d_head must be a multiple of 4"
            )
        self.fused = Fused(
            d_head=d_head // 2, dropout=dropout, scale="sqrt_d_head", fill="zero_output"
        )
        self.eps = eps
        self.initial = 0.2
        # the rows are the vectors a1, b1, a2, b2 of lambda
        self.vectors = nn.Parameter(torch.empty(4, d_head // 2))
        self.gain = nn.Parameter(torch.ones(d_head))

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Set lambda_0, the constant part of lambda, which grows with the number of the layer."""
        self.initial = 0.8 - 0.6 * exp(-0.3 * layer)

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Initialise a parameter in place.

        The vectors from which lambda is computed are random, and the gain of the norm is 1.
        """
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=STD, generator=generator)
        else:
            nn.init.ones_(parameter)

    def weight(self) -> Float[Tensor, ""]:
        """Return lambda, the weight of the second softmax."""
        wide = torch.promote_types(self.vectors.dtype, torch.float32)
        a, b = self.vectors.to(wide).view(2, 2, -1).unbind(1)
        first, second = (a * b).sum(1).exp().unbind()
        return first - second + self.initial

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return the normalised outputs of the heads, times (1 - lambda_0)."""
        parts = zip(halves(q), halves(k), strict=True)
        kept, noise = (self.fused(*part, v, mask, bias) for part in parts)
        mixed = kept - self.weight().to(noise.dtype) * noise
        wide = mixed.to(self.gain.dtype)
        normal = F.rms_norm(wide, self.gain.shape, self.gain, self.eps).to(v.dtype)
        return (1 - self.initial) * normal


def halves(heads: Float[Tensor, "B H L E"]) -> tuple[Tensor, ...]:
    """Return two halves of the channels: the even-numbered pairs and the odd-numbered pairs."""
    pairs = heads.view(*heads.shape[:-1], heads.size(-1) // 4, 2, 2)
    return tuple(half.flatten(-2) for half in pairs.unbind(-2))
