"""Vectors of positions beside the embeddings, not added to them.

Equation: x'[pos] = W [x[pos]; p[pos]] + b, W "d_model 2 d_model"; p is that of another level, `of`.
Source: the alternative to the sum in arXiv:1706.03762, section 3.5, whose encodings have d_model
    channels "so that the two can be summed".
What differs: a learned map takes both back to d_model channels. W [x; p] = A x + C p, so a sum is
    the case A = C = 1: what is new are the maps, with 2 d_model^2 weights for each stack.
What to expect: the results of the sum; no channel has to serve words and positions at once.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.model.linear import Linear
from ablate.model.position.base import Position, vectors


class Concatenated(Position):
    """Maps embeddings and vectors, side by side, to one.

    Args:
        d_model: width.
        of: factory of the positions whose vectors these are.

    Raises:
        UserError: they have none.
    """

    def __init__(self, *, d_model: int, of: Callable[..., Position]) -> None:
        super().__init__()
        self.of = vectors("concatenated", of(d_model=d_model))
        self.map = Linear(2 * d_model, d_model)

    @property
    def longest(self) -> int | None:
        """Tokens of the longest sequence that has vectors."""
        return self.of.longest

    def embed(
        self, x: Float[Tensor, "B L D"], positions: Int[Tensor, "#B L"]
    ) -> Float[Tensor, "B L D"]:
        """Return what the map makes of x and the vectors."""
        p = self.of.embed(torch.zeros_like(x), positions)
        mapped: Tensor = self.map(torch.cat([x, p], -1))
        return mapped
