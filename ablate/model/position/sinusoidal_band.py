"""Sinusoids of a part of the wavelengths.

Equation: p of `sinusoidal` in the channels of the pairs from begin * d_model / 2 to
    end * d_model / 2, and 0 in the others.
Source: that fast channels tell neighbours apart and slow ones distant tokens is said of
    arXiv:1706.03762, section 3.5, by its explainers; it has no such arm.
What differs: fewer channels say the position; those left keep their wavelengths and amplitudes.
What to expect: with half of the channels the fast ones end at a wavelength of 628, so that they
    tell all positions of a sentence apart; slow ones turn by less than 1 / 100 per token.
"""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.model.position.sinusoidal import Sinusoidal


class SinusoidalBand(Sinusoidal):
    """Adds the sinusoids of a band.

    Args:
        d_model: width; even.
        layout, spacing: as those of the sinusoids.
        begin, end: shares of the pairs, from the fastest, between which they stay.

    Raises:
        UserError: a value outside the above, or a band without a pair.
    """

    def __init__(
        self,
        *,
        d_model: int,
        layout: str,
        spacing: str,
        begin: Annotated[float, Range(0, 1)],
        end: Annotated[float, Range(0, 1)],
    ) -> None:
        pairs = d_model // 2
        self.kept = slice(round(begin * pairs), round(end * pairs))
        if self.kept.start >= self.kept.stop:
            raise UserError(
                f"model.position.begin={begin} and model.position.end={end} keep none of the "
                f"{pairs} pairs of model.d_model={d_model}"
            )
        super().__init__(d_model=d_model, layout=layout, spacing=spacing)

    def formula(self, positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
        """Return the values of any positions, in float64."""
        pairs = torch.zeros(d_model // 2, dtype=torch.float64)
        pairs[self.kept] = 1.0
        interleaved = self.layout == "interleaved"
        kept = pairs.repeat_interleave(2) if interleaved else pairs.repeat(2)
        return super().formula(positions, d_model) * kept
