"""The same vector at every position, as a control.

Equation: x[pos] + p, p = sin(0), cos(0), sin(0), ... = (0, 1, 0, 1, ...).
Source: a control for arXiv:1706.03762, section 3.5: its encoding of position 0 is added at every
    position.
What differs: the added vector has the norm of sinusoids, but carries no position.
What to expect: the results of `model/position=none`. A difference from `none` would be due to the
    size of the added vector, not to positions.
"""

import torch
from torch import Tensor

from ablate.model.position.base import Position, Positions, Tokens


class Constant(Position):
    """Positions that add the same vector everywhere: the sinusoids of position 0."""

    vector: Tensor

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.register_buffer("vector", (torch.arange(d_model) % 2).float(), persistent=False)

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return x plus the sinusoids of position 0."""
        return x + self.vector
