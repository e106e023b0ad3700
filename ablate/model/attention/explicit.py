"""Scaled dot-product attention, as matrix products and a softmax.

Equation: weights = softmax(fill(scale * q k^T)); out = dropout(weights) v.
Source: arXiv:1706.03762, section 3.2.1 ("setting to -inf all illegal connections").
What differs: the paper does not define the output of a query whose keys are all masked. The setting
    `fill` does. `minus_inf`: NaN; `large_negative` (the most negative finite number): the mean of
    all values, masked ones included; `zero_output`: zeros. If at least one key is kept, the three
    are equal.
What to expect: with fill=zero_output, the results of fused attention; attention weights are
    available as well. With a padding option that masks queries, minus_inf turns the output to NaN:
    this is the ablation, not a bug.
"""

from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from ablate import hardware
from ablate.config.limits import check_one_of
from ablate.model.attention.base import (
    ROOTS,
    Bias,
    Kernel,
    Keys,
    Outputs,
    Queries,
    Values,
    scale_factor,
)
from ablate.model.dropout import Dropout
from ablate.model.padding import Mask
from ablate.model.sublayer import VECTOR

Scores = Float[Tensor, "B H Q K"]  # a number for each query and key

FILLS = ("minus_inf", "large_negative", "zero_output")


class Explicit(Kernel):
    """Scaled dot-product attention, computed by two matrix products and a softmax.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).

    Raises:
        UserError: `scale` or `fill` has another value.
    """

    def __init__(self, *, d_head: int, dropout: float, scale: str, fill: str) -> None:
        super().__init__()
        check_one_of("model.attention.fill", fill, FILLS)
        self.scale = scale_factor(scale, d_head)
        self.divides_by_root = scale in ROOTS
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
    return not (hardware.uses_cpu_path(keep.device) and bool(keep.any(-1).all()))


def softmax(scores: Scores) -> Scores:
    """Return the softmax over keys; rows of fewer than VECTOR keys are padded to be faster."""
    n_keys = scores.size(-1)
    if n_keys >= VECTOR:
        return scores.softmax(-1)
    return F.pad(scores, (0, VECTOR - n_keys), value=-torch.inf).softmax(-1)[..., :n_keys]
