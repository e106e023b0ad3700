"""Attention with linear biases (ALiBi): scores fall with the distance between query and key.

Equation: score(q_i, k_j) = scale * q_i k_j - slope_h * |i - j|, with the slopes of n heads 2^(-8h /
    n), h = 1 to n. If n is no power of 2, let m be the largest power of 2 below n: the slopes are
    those of m heads, followed by every other slope of 2m heads.
Source: arXiv:2108.12409, section 3; the slopes for an n that is no power of 2 are from the paper's
    code.
What differs: the paper trains causal language models; here an encoder uses the same bias for both
    directions. Cross-attention has no positions.
What to expect: the quality of sinusoids at lengths seen in training, and little loss beyond them.
    The encoder must learn word order from distances without a sign, which is harder.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.model.position.base import Position


class Alibi(Position):
    """Positions that add a bias to each score: minus a slope times the distance."""

    def __init__(self, *, d_model: int) -> None:
        super().__init__()

    def bias(
        self, n_heads: int, queries: Int[Tensor, "#B Q"], keys: Int[Tensor, "#B K"]
    ) -> Float[Tensor, "#B H Q K"]:
        """Return the negative distances, multiplied by the slope of each head."""
        distance = (queries[:, None, :, None] - keys[:, None, None, :]).abs()
        head = torch.tensor(slopes(n_heads), device=queries.device)
        return -head[:, None, None] * distance


def slopes(n_heads: int) -> list[float]:
    """Return the slope of each head: 2^(-8h / n) for head h of n, if n is a power of 2.

    For other n, the docstring of this module has the rule.
    """
    below = 1 << (n_heads.bit_length() - 1)  # the largest power of 2 that is not above n_heads
    regular = [2 ** (-8 * h / below) for h in range(1, below + 1)]
    between = [2 ** (-4 * h / below) for h in range(1, 2 * below + 1, 2)]
    return regular + between[: n_heads - below]
