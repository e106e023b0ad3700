"""Vectors of positions that every layer sees.

Equation: self-attention of each layer reads x[pos] + p[pos], x the tokens that it would read
    without positions; p is that of another level, `of`.
Source: arXiv:1808.04444, section 3 (positions added before each layer); arXiv:2005.12872,
    section A.3 (added in every attention, not to what runs past it).
What differs: one p for all layers, where the first learns one for each; it is added to queries,
    keys and values, where the second leaves values alone. What runs past attention has no p.
What to expect: the quality of vectors added once in a few layers, more in deep ones, where they
    need not be carried through.
"""

from collections.abc import Callable

from jaxtyping import Float, Int
from torch import Tensor

from ablate.model.position.base import Position, vectors


class EveryLayer(Position):
    """Adds vectors in front of every self-attention.

    Args:
        d_model: width.
        of: factory of the positions whose vectors these are.

    Raises:
        UserError: they have none.
    """

    def __init__(self, *, d_model: int, of: Callable[..., Position]) -> None:
        super().__init__()
        self.of = vectors("every_layer", of(d_model=d_model))

    @property
    def longest(self) -> int | None:
        """Tokens of the longest sequence that has vectors."""
        return self.of.longest

    def within(
        self, x: Float[Tensor, "B L D"], positions: Int[Tensor, "#B L"]
    ) -> Float[Tensor, "B L D"]:
        """Return x plus the vectors."""
        return self.of.embed(x, positions)
