"""What it takes to divide a width among heads, for the probe of attention's algebra."""

import itertools
from typing import Any

import torch
from torch import nn

from ablate.claims.probe.attention.attention_loops import by_head, read
from ablate.claims.probe.random_models import randomised
from ablate.errors import UserError
from ablate.initial.seeded import initialise
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.padding.columns import Columns
from ablate.model.sizes import head_width

SIZES = range(1, 11)  # widths and numbers of heads that are tried, each with each
WORDS = 8
ROUNDING = 1e-9


def divisibility() -> dict[str, float]:
    """Try all pairs of a width and a number of heads.

    divisible_wrong: pairs that torch's module or this project refuses though the number divides the
    width, or takes though it does not; divisible_reversed: the same of the width dividing the
    number. Of the pairs that do not divide, undivided: the share for which attention with a head
    width of its own equals the loop over heads; unchecked: how many `view` splits without a word.
    """
    pairs = list(itertools.product(SIZES, SIZES))
    taken = {pair: (taken_by_torch(*pair), taken_here(*pair)) for pair in pairs}
    uneven = [(width, heads) for width, heads in pairs if width % heads]
    generator = torch.Generator().manual_seed(0)
    return {
        "divisible_wrong": disagreeing(taken, {(d, h): d % h == 0 for d, h in pairs}),
        "divisible_reversed": disagreeing(taken, {(d, h): h % d == 0 for d, h in pairs}),
        "undivided": sum(computed(*pair, generator) for pair in uneven) / len(uneven),
        "unchecked": float(sum(splits(*pair) for pair in uneven)),
    }


def disagreeing(
    taken: dict[tuple[int, int], tuple[bool, bool]], rule: dict[tuple[int, int], bool]
) -> float:
    """Return how many pairs either module treats otherwise than the rule says."""
    return float(sum(any(one != rule[pair] for one in found) for pair, found in taken.items()))


def taken_by_torch(width: int, heads: int) -> bool:
    """Return whether torch builds such a module."""
    try:
        nn.MultiheadAttention(width, heads)
    except AssertionError:
        return False
    return True


def taken_here(width: int, heads: int) -> bool:
    """Return whether the project divides the width."""
    try:
        head_width(width, heads, None)
    except UserError:
        return False
    return True


def with_heads(width: int, heads: int, d_head: int, generator: torch.Generator) -> SelfAttention:
    """Return self-attention with heads of any width, under random weights."""
    kernel = Explicit(d_head=d_head, dropout=0.0, scale="sqrt_d_head", fill="zero_output")
    sizes: Any = {"d_model": width, "n_heads": heads, "d_head": d_head}
    own = SelfAttention(**sizes, kernel=kernel, padding=Columns(), causal=False)
    initialise(own, 0)
    return randomised(own, generator)


@torch.no_grad()
def computed(width: int, heads: int, generator: torch.Generator) -> bool:
    """Return whether heads that are a little wider than their part compute attention."""
    own = with_heads(width, heads, width // heads + 1, generator)
    x = torch.randn(WORDS, width, generator=generator, dtype=torch.float64)
    return bool((read(own, x, x) - by_head(own, x, x)).abs().max() <= ROUNDING)


def splits(width: int, heads: int) -> bool:
    """Return whether a sentence can be viewed as heads of the part's width, rounded down."""
    part = width // heads
    return part > 0 and WORDS * width % (heads * part) == 0
