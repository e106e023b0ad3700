"""Sinusoids times a number that is learned.

Equation: x[pos] + g p[pos], p the sinusoids and g one number per stack that starts at `initial`.
Source: arXiv:1809.08895, section 3.2, for speech.
What differs: embeddings of words in place of frames and phonemes; the source starts g at 1.
What to expect: at most a small difference, since embeddings can grow or shrink just as well.
"""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.config.limits import Range
from ablate.model.position.sinusoidal import Sinusoidal


class Scaled(Sinusoidal):
    """Adds sinusoids of a learned size.

    Args:
        d_model: width; even.
        layout, spacing: as those of the sinusoids.
        initial: the size at the start.
    """

    def __init__(
        self, *, d_model: int, layout: str, spacing: str, initial: Annotated[float, Range(0, 10)]
    ) -> None:
        super().__init__(d_model=d_model, layout=layout, spacing=spacing)
        self.initial = initial
        self.size = nn.Parameter(torch.tensor([initial]))

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Set the size in place."""
        nn.init.constant_(parameter, self.initial)

    def embed(
        self, x: Float[Tensor, "B L D"], positions: Int[Tensor, "#B L"]
    ) -> Float[Tensor, "B L D"]:
        """Return x plus the sinusoids, scaled."""
        return x + self.size * super().embed(torch.zeros_like(x), positions)
