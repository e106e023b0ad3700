"""Position vectors concatenated with the embeddings instead of added to them.

Equation: x'[pos] = W [x[pos]; p[pos]] + b, W has the shape "d_model 2 d_model". p is the position
    vector of another option, `of`.
Source: the alternative to the sum in arXiv:1706.03762, section 3.5, whose encodings have d_model
    channels "so that the two can be summed".
What differs: a learned linear map returns to d_model channels. W [x; p] = A x + C p, so the sum is
    the special case in which A and C are the identity. Each stack has 2 d_model^2 additional
    weights.
What to expect: the results of the sum, although no channel has to represent words and positions at
    once.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from ablate.model.linear import Linear
from ablate.model.position.base import OfVectors, Position, Positions, Tokens


class Concatenated(OfVectors):
    """Concatenates embeddings with position vectors, and maps the result to d_model channels.

    Args:
        d_model: width.
        of: factory of the position option that provides the vectors.

    Raises:
        UserError: `of` provides no vectors.
    """

    def __init__(self, *, d_model: int, of: Callable[..., Position]) -> None:
        super().__init__("concatenated", of(d_model=d_model))
        self.map = Linear(2 * d_model, d_model)

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return W [x; p] + b."""
        p = self.of.embed(torch.zeros_like(x), positions)
        mapped: Tensor = self.map(torch.cat([x, p], -1))
        return mapped
