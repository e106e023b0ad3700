"""Check which numbers of attention heads are possible for which model widths."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ablate.errors import UserError
from ablate.initial import initialise
from ablate.model.architecture import head_width
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.padding import Columns
from experiments.shared.probe.attention_loops import by_head, read
from experiments.shared.probe.draws import moved, raises, randomised

SIZES = range(1, 11)  # widths and numbers of heads; all combinations are tried
WORDS = 8
ROUNDING = 1e-9


def divisibility() -> dict[str, float]:
    """Check rules for the number of heads on all combinations of width and number of heads.

    A combination breaks a rule if torch's module or this project accepts what the rule forbids, or
    rejects what the rule allows. A combination is uneven if the number of heads does not divide the
    width.

    Returns:
        divisible_wrong: number of combinations that break the rule that the number of heads must
            divide the width.
        divisible_reversed: number of combinations that break the rule that the width must divide
            the number of heads.
        undivided: fraction of the uneven combinations in which attention with an independent head
            width equals a loop over the heads.
        unchecked: number of the uneven combinations in which `view` splits vectors into heads
            without an error.
    """
    pairs = list(itertools.product(SIZES, SIZES))
    uneven = [(width, heads) for width, heads in pairs if width % heads]
    generator = torch.Generator().manual_seed(0)
    accepted = {pair: {torch_accepts(*pair), project_accepts(*pair)} for pair in pairs}

    def breaking(rule: Callable[[int, int], bool]) -> float:
        return float(sum({rule(*pair)} != accepted[pair] for pair in pairs))

    return {
        "divisible_wrong": breaking(lambda width, heads: width % heads == 0),
        "divisible_reversed": breaking(lambda width, heads: heads % width == 0),
        "undivided": sum(computed(*pair, generator) for pair in uneven) / len(uneven),
        "unchecked": float(sum(splits(*pair) for pair in uneven)),
    }


def torch_accepts(width: int, heads: int) -> bool:
    """Return whether torch.nn.MultiheadAttention accepts this width and number of heads."""
    return not raises(lambda: nn.MultiheadAttention(width, heads), AssertionError)


def project_accepts(width: int, heads: int) -> bool:
    """Return whether this project accepts this width and number of heads."""
    return not raises(lambda: head_width(width, heads, None), UserError)


def with_heads(width: int, heads: int, d_head: int, generator: torch.Generator) -> SelfAttention:
    """Return self-attention without a causal mask, with random weights and with heads of width
    `d_head`, which need not be `width / heads`.
    """
    kernel = Explicit(d_head=d_head, dropout=0.0, scale="sqrt_d_head", fill="zero_output")
    sizes: Any = {"d_model": width, "n_heads": heads, "d_head": d_head}
    attention = SelfAttention(**sizes, kernel=kernel, padding=Columns(), causal=False)
    initialise(attention, 0)
    return randomised(attention, generator)


@torch.no_grad()
def computed(width: int, heads: int, generator: torch.Generator) -> bool:
    """Return whether attention with heads that are wider than width / heads equals a loop over the
    heads.
    """
    attention = with_heads(width, heads, width // heads + 1, generator)
    x = torch.randn(WORDS, width, generator=generator, dtype=torch.float64)
    return bool(moved(read(attention, x, x), by_head(attention, x, x)) <= ROUNDING)


def splits(width: int, heads: int) -> bool:
    """Return whether `view` splits WORDS vectors of this width into heads of width `width // heads`
    without an error.
    """
    part = width // heads
    return part > 0 and WORDS * width % (heads * part) == 0
