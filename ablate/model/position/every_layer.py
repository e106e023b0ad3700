"""Position vectors added in every layer.

Equation: self-attention of each layer reads x[pos] + p[pos], where x is its input without
    positions. p is the position vector of another option, `of`.
Source: arXiv:1808.04444, section 3 (positions added before each layer); arXiv:2005.12872,
    section A.3 (added in every attention, not to the residual stream).
What differs: all layers share p, whereas the first paper learns a p for each layer. p is added to
    the input of queries, keys and values; the second paper does not add p to values. p is not added
    to the residual stream.
What to expect: in shallow models, the quality of vectors that are added once; in deep models a
    better quality, because the layers need not preserve positions in the residual stream.
"""

from collections.abc import Callable

from ablate.model.position.base import OfVectors, Position, Positions, Tokens


class EveryLayer(OfVectors):
    """Positions that add a position vector to the input of every self-attention.

    Args:
        d_model: width.
        of: factory of the position option that provides the vectors.

    Raises:
        UserError: `of` provides no vectors.
    """

    def __init__(self, *, d_model: int, of: Callable[..., Position]) -> None:
        super().__init__("every_layer", of(d_model=d_model))

    def within(self, x: Tokens, positions: Positions) -> Tokens:
        """Return x plus the position vectors."""
        return self.of.embed(x, positions)
