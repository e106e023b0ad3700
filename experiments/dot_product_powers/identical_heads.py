"""Compare multi-head attention, whose heads all have the same projections, with single-head
attention.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from ablate.model.attention.explicit import Explicit
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.padding import Mask
from experiments.shared.probe.attention_loops import Words, projected, read
from experiments.shared.probe.divided_heads import with_heads
from experiments.shared.probe.draws import Measured, moved

COPIES = (2, 4, 8)  # numbers of identical heads
WIDEST = 8  # largest head width


def identical_heads(x: Words, generator: torch.Generator) -> Measured:
    """Yield differences between attention with several identical heads and attention with one
    head, whose output projection is the sum of the heads' parts of W_O.

    Yields:
        identical_error: difference of the outputs.
        other_heads: difference of the outputs if one of the heads has other queries.
        dropout_between_heads: difference between the heads if each head has a separate dropout
            mask.
    """
    width = min(x.size(1), WIDEST)
    for heads in COPIES:
        many = with_heads(x.size(1), heads, width, generator)
        for of in (many.query, many.key, many.value):
            of.weight.copy_(of.weight[:width].repeat(heads, 1))
            of.bias.copy_(of.bias[:width].repeat(heads))
        out, alone = read(many, x, x), summed(many)
        yield "identical_error", moved(out, read(alone, x, x))
        yield "dropout_between_heads", between_heads(many, x)
        many.query.weight[:width] *= -1
        yield "other_heads", moved(read(many, x, x), read(alone, x, x))


def summed(many: SelfAttention) -> SelfAttention:
    """Return the single-head attention that is equivalent to attention with identical heads."""
    single: Any = copy.deepcopy(many)
    width = many.d_head
    single.n_heads = 1
    for of in (single.query, single.key, single.value):
        of.weight, of.bias = (nn.Parameter(part[:width].clone()) for part in (of.weight, of.bias))
    parts = single.output.weight.unflatten(1, (many.n_heads, width))
    single.output.weight = nn.Parameter(parts.sum(1))
    return single


def between_heads(many: SelfAttention, x: Words) -> Tensor:
    """Return the largest difference between heads in training mode with dropout of the weights."""
    kernel = Explicit(d_head=many.d_head, dropout=0.1, scale="sqrt_d_head", fill="zero_output")
    q, k, v = (of[None] for of in projected(many, x, x))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        out = kernel.train()(q, k, v, Mask(), None)
    return moved(out, out[:, :1])
