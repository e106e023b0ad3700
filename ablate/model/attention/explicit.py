"""Attention kernels that compute all scores of queries and keys as a matrix."""

from functools import partial
from typing import Annotated, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import process
from ablate.config.limits import OneOf, Range
from ablate.model.attention import Bias, Kernel, Keys, Outputs, Queries, Values
from ablate.model.layers import Dropout
from ablate.model.padding import Mask
from ablate.model.parametrisation import FanIn
from ablate.model.stack import VECTOR

Scores = Float[Tensor, "B H Q K"]  # a number for each query and key

Fill = Annotated[str, OneOf(("minus_inf", "large_negative", "zero_output"))]
ROOTS = ("sqrt_d_head", "two_sqrt_d_head")  # values of `scale` that are divisors like sqrt(d_head)
Scale = Annotated[str, OneOf((*ROOTS, "none", "d_head", "fourth_root_d_head"))]


def scale_factor(scale: str, d_head: int) -> float:
    """Return the factor that multiplies the scores: 1 divided by the divisor that `scale` names."""
    factors = {
        "sqrt_d_head": d_head**-0.5,
        "none": 1.0,
        "d_head": 1 / d_head,
        "fourth_root_d_head": d_head**-0.25,
        "two_sqrt_d_head": 0.5 * d_head**-0.5,
    }
    return factors[scale]


class Explicit(Kernel):
    """Scaled dot-product attention, as matrix products and a softmax.

    Scaled dot-product attention, computed by two matrix products and a softmax.

    Equation: weights = softmax(fill(scale * q k^T)); out = dropout(weights) v.
    Source: arXiv:1706.03762, section 3.2.1 ("setting to -inf all illegal connections").
    What differs: the paper does not define the output of a query whose keys are all masked. The
        setting `fill` does. `minus_inf`: NaN; `large_negative` (the most negative finite number):
        the mean of all values, masked ones included; `zero_output`: zeros. If at least one key is
        kept, the three are equal.
    What to expect: with fill=zero_output, the results of fused attention; attention weights are
        available as well. With a padding option that masks queries, minus_inf turns the output to
        NaN: this is the ablation, not a bug.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).
    """

    def __init__(self, *, d_head: int, dropout: float, scale: Scale, fill: Fill) -> None:
        super().__init__()
        self.scale = scale_factor(scale, d_head)
        self.suits_mup = scale in ROOTS
        self.fill = fill
        self.dropout = Dropout(dropout)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        scores = self.scores(q, k)
        # exponentials of bfloat16 are slow and inaccurate
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        keep = mask.dense(scores.size(2), scores.size(3), scores.device)
        added = bias
        if keep is not None and bias is None:
            key = self.fill, scores.dtype
            added = mask.once(key, lambda: self.blocked(keep, scores.dtype, None))
        elif keep is not None:
            added = self.blocked(keep, scores.dtype, bias)
        scaled = (
            scores * self.scale if added is None else torch.add(added, scores, alpha=self.scale)
        )
        weights = softmax(scaled)
        zeroes = self.fill == "zero_output"
        if zeroes and keep is not None and mask.once("lacks", partial(may_lack_keys, keep)):
            weights = weights.masked_fill(~keep, 0.0)
        return self.dropout(weights).to(v.dtype) @ v

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Return the scores before the scale, the mask and the bias; a subclass may override it."""
        return q @ k.transpose(-2, -1)

    def blocked(
        self, keep: Bool[Tensor, "#B 1 #Q #K"], dtype: torch.dtype, bias: Tensor | None
    ) -> Bias:
        """Return the bias to add to the scores, with the fill value wherever a key is masked."""
        lowest = -torch.inf if self.fill == "minus_inf" else torch.finfo(dtype).min
        added = torch.zeros_like(keep, dtype=dtype) if bias is None else bias.to(dtype)
        return added.masked_fill(~keep, lowest)


def may_lack_keys(keep: Bool[Tensor, "#B 1 #Q #K"]) -> bool:
    """Return whether a query may have no key at all."""
    # such queries are rare: on a CPU, a check is cheaper than filling every time
    return not (process.uses_cpu_path(keep.device) and bool(keep.any(-1).all()))


def softmax(scores: Scores) -> Scores:
    """Return the softmax over keys; rows of fewer than VECTOR keys are padded to be faster."""
    n_keys = scores.size(-1)
    if n_keys >= VECTOR:
        return scores.softmax(-1)
    return F.pad(scores, (0, VECTOR - n_keys), value=-torch.inf).softmax(-1)[..., :n_keys]


class Additive(Explicit):
    """Additive attention: a small network with one hidden layer computes the scores.

    Attention whose scores come from a network with one hidden layer.

    Equation: score(q, k) = w tanh(q + k); weights = softmax(score).
    Source: arXiv:1409.0473, appendix A.1.2: v_a tanh(W_a s + U_a h), where W_a and U_a are the
        projections to queries and keys.
    What differs: there are several heads, as wide as those of dot-product attention; all heads
        share w.
    What to expect: the quality of scaled dot-product attention (arXiv:1706.03762, section 3.2.1).
        It takes more time, and d_head times as much memory for scores.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).
    """

    fan_in: ClassVar = {"score": FanIn.HEAD}

    def __init__(self, *, d_head: int, dropout: float, fill: Fill) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale="none", fill=fill)
        self.score = nn.Linear(d_head, 1, bias=False)

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Return w tanh(q + k) for each query and key."""
        hidden = (q[:, :, :, None] + k[:, :, None]).tanh()
        scores: Tensor = self.score(hidden).squeeze(-1)
        return scores


class General(Explicit):
    """Attention whose scores are a bilinear form of queries and keys.

    Attention by the scores q W k^T, with a learned matrix W.

    Equation: score(q, k) = scale * q W k^T; weights = softmax(score).
    Source: arXiv:1508.04025, section 3.1 ("general").
    What differs: in the paper q and k are states of the networks. Here q and k are learned
        projections already, so W adds parameters but no function that the projections could not
        express. Heads share W.
    What to expect: with the divisor sqrt(d_head) (option general_divided), the results of
        dot-product attention with other initial values. Without a divisor, as in the paper, the
        initial scores are so large that a model may learn nothing at a learning rate that suits the
        other options.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).
    """

    fan_in: ClassVar = {"form": FanIn.HEAD}

    def __init__(self, *, d_head: int, dropout: float, scale: Scale, fill: Fill) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale=scale, fill=fill)
        self.form = nn.Linear(d_head, d_head, bias=False)

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Return q W k^T for each query and key."""
        return super().scores(q, self.form(k))


class LearnedScale(Explicit):
    """Dot-product attention with a learned scale.

    Attention by dot products times a learned factor g.

    Equation: weights = softmax(g q k^T); g starts at 1 / sqrt(d_head).
    Source: arXiv:1706.03762, section 3.2.1, for the initial value; arXiv:2010.04245, section 3.2,
        for a learned factor.
    What differs: arXiv:2010.04245 learns one g for the model, and normalises queries and keys. Here
        each attention sub-layer learns its own g, and queries and keys are not normalised.
    What to expect: the results of the fixed divisor, because the projections of queries and keys
        can learn the same factor.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).
    """

    def __init__(self, *, d_head: int, dropout: float, fill: Fill) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale="none", fill=fill)
        self.factor = nn.Parameter(torch.tensor([d_head**-0.5]))

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Return g times the dot product of each query and key."""
        return self.factor * (q @ k.mT)


class Cosine(Explicit):
    """Cosine attention: scores are the cosines of the angles between queries and keys.

    Attention whose scores are a learned factor g times the cosine of query and key.

    Equation: weights = softmax(g * cos(q, k)), cos(q, k) = q k^T / (|q| |k|); g is learned.
    Source: arXiv:2010.04245 (query-key normalisation), section 3.2; with a fixed factor
        arXiv:1410.5401 (content addressing), which calls the factor a key strength.
    What differs: each attention sub-layer learns its own g, whereas the paper learns one g for the
        model. g starts at `scale`; the paper starts at log2(L^2 - L) for the length L that covers
        97.5 % of training.
    What to expect: scores stay within +-g, so vectors of large norm cannot saturate the softmax.
        The quality is that of dot products if g is large enough for a query to attend to a single
        key.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: initial value of the learned factor by which cosines are multiplied.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).
    """

    def __init__(
        self, *, d_head: int, dropout: float, scale: Annotated[float, Range(0)], fill: Fill
    ) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale="none", fill=fill)
        self.suits_mup = True  # cosines do not grow with the width of a head
        self.strength = nn.Parameter(torch.tensor([float(scale)]))

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Return g times the cosine of each query and key."""
        # unused slots of a cache are 0; float16 would round torch's 1e-12 to 0, and 0 / 0 is NaN
        eps = max(1e-12, torch.finfo(q.dtype).tiny)
        cosines = F.normalize(q, dim=-1, eps=eps) @ F.normalize(k, dim=-1, eps=eps).mT
        return self.strength * cosines
