"""Sinusoidal positions, multiplied by a learned number.

Equation: x[pos] + g p[pos]. x are the embeddings and p the sinusoids. The encoder and the decoder
    have one number g each, with the initial value `initial`.
Source: arXiv:1809.08895, section 3.2, about speech.
What differs: x are embeddings of words instead of frames and phonemes. In the source, the initial
    value of g is 1.
What to expect: at most a small difference from plain sinusoids, because the model can also learn
    larger or smaller embeddings.
"""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.config.limits import Range
from ablate.model.position.added import Sinusoidal


class Scaled(Sinusoidal):
    """Add sinusoids, multiplied by a learned number, to the embeddings.

    Args:
        d_model: width of the model; must be even.
        layout, spacing: see `Sinusoidal`.
        initial: value of the learned number before training.
    """

    def __init__(
        self, *, d_model: int, layout: str, spacing: str, initial: Annotated[float, Range(0, 10)]
    ) -> None:
        super().__init__(d_model=d_model, layout=layout, spacing=spacing)
        self.size = nn.Parameter(torch.tensor([initial]))

    def embed(
        self, x: Float[Tensor, "B L D"], positions: Int[Tensor, "#B L"]
    ) -> Float[Tensor, "B L D"]:
        """Return x plus the scaled sinusoids."""
        return x + self.size * super().embed(torch.zeros_like(x), positions)
