"""Position vectors added in every layer.

Equation: self-attention of each layer reads x[pos] + p[pos], x the tokens that it would read
    without positions; p comes from another option, `of`.
Source: arXiv:1808.04444, section 3 (positions added before each layer); arXiv:2005.12872,
    section A.3 (added in every attention, not to the residual stream).
What differs: all layers share p, where the first paper learns a p for each layer. p is added to
    queries, keys and values, where the second leaves values alone. The residual stream has no p.
What to expect: in shallow models the quality of vectors added once; more in deep ones, where layers
    need not carry them through.
"""

from collections.abc import Callable

from jaxtyping import Float, Int
from torch import Tensor

from ablate.model.position.base import Position, vectors


class EveryLayer(Position):
    """Adds position vectors to the input of every self-attention.

    Args:
        d_model: width.
        of: factory of the positions that provide the vectors.

    Raises:
        UserError: `of` provides no vectors.
    """

    def __init__(self, *, d_model: int, of: Callable[..., Position]) -> None:
        super().__init__()
        self.of = vectors("every_layer", of(d_model=d_model))

    @property
    def longest(self) -> int | None:
        """The largest number of positions that have vectors; None: there is no limit."""
        return self.of.longest

    def within(
        self, x: Float[Tensor, "B L D"], positions: Int[Tensor, "#B L"]
    ) -> Float[Tensor, "B L D"]:
        """Return x plus the position vectors."""
        return self.of.embed(x, positions)
