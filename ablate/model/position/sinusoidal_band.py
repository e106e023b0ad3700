"""Sinusoids with only some of the wavelengths.

Equation: p as in `sinusoidal` for the pairs of channels from begin * d_model / 2 to
    end * d_model / 2, and 0 in the other channels.
Source: introductions to arXiv:1706.03762, section 3.5, say that fast channels distinguish
    neighbours and slow ones distant tokens; the paper does not test it.
What differs: fewer channels encode the position; the remaining ones keep their wavelengths and
    amplitudes.
What to expect: the faster half of the channels has wavelengths up to 628, so it distinguishes all
    positions of a sentence; slow channels change their angle by less than 1 / 100 radian per token.
"""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.model.position.sinusoidal import Sinusoidal


class SinusoidalBand(Sinusoidal):
    """Positions that add sinusoids to only a band of the channels.

    Args:
        d_model: width; even.
        layout: order of the channels: interleaved (sine next to its cosine) | halves (all sines,
            then all cosines).
        spacing: n in the wavelengths 2 pi 10000^(i / n): half (d_model / 2) | half_minus_one
            (d_model / 2 - 1).
        begin: fraction of the wavelengths, from the shortest on, at which the kept band begins.
        end: fraction of the wavelengths, from the shortest on, at which the kept band ends.

    Raises:
        UserError: an argument is not allowed, or the band contains no pair.
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
        """Return the position vectors of any positions, in float64."""
        pairs = torch.zeros(d_model // 2, dtype=torch.float64)
        pairs[self.kept] = 1.0
        interleaved = self.layout == "interleaved"
        kept = pairs.repeat_interleave(2) if interleaved else pairs.repeat(2)
        return super().formula(positions, d_model) * kept
