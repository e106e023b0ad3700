"""Fixed sinusoids.

Equation: p[pos, channel of pair i] = sin(pos * w_i) and cos(pos * w_i), w_i = 10000^(-i / n).
    Layout `interleaved` puts pair i in channels 2i and 2i + 1, and `halves` in channels i and i +
    d_model/2. n is d_model/2 (spacing `half`) or d_model/2 - 1 (`half_minus_one`).
Source: arXiv:1706.03762, section 3.5: interleaved, half (exponent 2i / d_model).
What differs: nothing in option `sinusoidal`, only the layout in option `sinusoidal_halves`. Option
    `sinusoidal_concat` follows the authors' code, tensor2tensor (arXiv:1803.07416): layout halves,
    spacing half_minus_one.
What to expect: all options have the same range of wavelengths, so differences beyond run-to-run
    variation would be a surprise. Sinusoids are defined at every length, but a trained model may
    not generalise beyond the lengths that it has seen.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.config.limits import check_one_of
from ablate.errors import UserError
from ablate.model.position.base import FixedVectors

LAYOUTS = ("interleaved", "halves")
SPACINGS = ("half", "half_minus_one")


class Sinusoidal(FixedVectors):
    """Positions that add sines and cosines of geometrically spaced wavelengths.

    Args:
        d_model: width; even, and at least 4 with spacing half_minus_one.
        layout: order of the channels: interleaved (sine next to its cosine) | halves (all sines,
            then all cosines).
        spacing: n in the wavelengths 2 pi 10000^(i / n): half (d_model / 2) | half_minus_one
            (d_model / 2 - 1).

    Raises:
        UserError: an argument has a value that is not allowed.
    """

    def __init__(self, *, d_model: int, layout: str, spacing: str) -> None:
        check_one_of("model.position.layout", layout, LAYOUTS)
        check_one_of("model.position.spacing", spacing, SPACINGS)
        least = 4 if spacing == "half_minus_one" else 2
        if d_model % 2 or d_model < least:
            raise UserError(
                f"model.d_model is {d_model}: sinusoidal positions of spacing {spacing} need an "
                f"even number, at least {least}"
            )
        self.layout = layout
        self.n_steps = d_model // 2 - (spacing == "half_minus_one")
        super().__init__(d_model=d_model)

    def vectors(self, length: int, d_model: int) -> Float[Tensor, "L D"]:
        """Return the position vectors of positions 0 to length - 1."""
        # float64: at position 500 a float32 angle is already wrong in the fifth decimal
        return self.formula(torch.arange(length), d_model).float()

    def formula(self, positions: Int[Tensor, " L"], d_model: int) -> Float[Tensor, "L D"]:
        """Return the position vectors of any positions, in float64."""
        pair = torch.arange(d_model // 2, dtype=torch.float64)
        angle = positions[:, None] * 10000.0 ** (-pair / self.n_steps)
        axis = 2 if self.layout == "interleaved" else 1
        return torch.stack([angle.sin(), angle.cos()], axis).flatten(1)
