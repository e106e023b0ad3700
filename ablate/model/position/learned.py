"""Learned absolute positions.

Equation: x[pos] + P[pos], where P is a trained matrix with max_length rows.
Source: arXiv:1705.03122, section 3.1; row (E) of Table 3 in arXiv:1706.03762.
What differs: encoder and decoder have separate matrices. Initial values are normal with standard
    deviation d_model^-0.5, as for embeddings before they are scaled.
What to expect: as good as sinusoids at lengths seen in training (25.7 against 25.8 BLEU in Table
    3); rows beyond these lengths are untrained, and longer sequences than max_length are rejected.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import hardware
from ablate.errors import UserError
from ablate.model.position.base import Position, Positions, Tokens


class Learned(Position):
    """Adds a trained vector for each position.

    Args:
        d_model: width.
        max_length: maximum number of tokens in a sequence, EOS or BOS counted; number of learned
            positions.

    Raises:
        UserError: `max_length` is below 1.
    """

    def __init__(self, *, d_model: int, max_length: int) -> None:
        super().__init__()
        if max_length < 1:
            raise UserError(f"model.position.max_length is {max_length}: it must be at least 1")
        self.table = nn.Parameter(torch.empty(max_length, d_model))
        self.draw_initial_values(self.table, None)

    @property
    def longest(self) -> int:
        """The largest number of positions that a sequence may have: the rows of the table."""
        return self.table.size(0)

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Fill the table in place with normal random values of standard deviation d_model^-0.5."""
        nn.init.normal_(parameter, std=parameter.size(1) ** -0.5, generator=generator)

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return x plus the learned vectors.

        Raises:
            UserError: the sequence is longer than the table.
        """
        on_cpu = hardware.uses_cpu_path(positions.device)
        if on_cpu and (end := int(positions.max()) + 1) > self.longest:
            raise UserError(
                f"a sequence of {end} tokens does not fit model.position.max_length="
                f"{self.longest}: learned positions end there; set it to at least {end}, "
                "keep sentences shorter, or use model/position=sinusoidal"
            )
        return x + F.embedding(positions, self.table)
