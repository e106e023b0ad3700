"""Count the positions whose encoding equals the encoding of another position."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.model.position.added import Sinusoidal
from experiments.position_formula_2.waves import TYPES
from experiments.shared.probe.draws import Measured

PERIOD = 100  # period of the control, in which positions coincide


def coincidences(position: Sinusoidal, d_model: int, near: int, far: int) -> Measured:
    """Yield how many positions have the same encoding as another position.

    Yields:
        same_TYPE: number among the first `far` positions, if encodings are rounded to a number
            type, such as bfloat16.
        same_bfloat16_near: number among the first `near` positions, in bfloat16.
        same_control: number among the first 2 PERIOD positions, in float64, if each position is
            taken modulo PERIOD, so that encodings repeat.
    """

    def counted(dtype: torch.dtype, length: int, period: int = far) -> int:
        def pair(number: int, positions: Int[Tensor, " N"]) -> Float[Tensor, "2 N"]:
            angle = (positions % period) * 10000.0 ** (-number / position.n_steps)
            return torch.stack([angle.sin(), angle.cos()]).to(dtype).double()

        return sharing(pair, d_model // 2, length)

    for name, dtype in TYPES.items():
        yield f"same_{name}", counted(dtype, far)
    yield "same_bfloat16_near", counted(torch.bfloat16, near)
    yield "same_control", counted(torch.float64, 2 * PERIOD, PERIOD)


def sharing(
    pair: Callable[[int, Int[Tensor, " N"]], Float[Tensor, "2 N"]], n_pairs: int, length: int
) -> int:
    """Return how many of the first `length` positions have the encoding of another position.

    Pairs of columns are compared one after another. A position that differs from all others is
    dropped, so that a million positions need not be stored with all columns at once.

    Args:
        pair: function that returns a pair of columns for some positions.
        n_pairs: number of pairs.
        length: number of positions.
    """
    positions, group = torch.arange(length), torch.zeros(length, dtype=torch.long)
    for number in range(n_pairs):
        for column in pair(number, positions):
            values, place = column.unique(return_inverse=True)
            _, group, counts = (group * len(values) + place).unique(
                return_inverse=True, return_counts=True
            )
        shared = counts[group] > 1
        positions, group = positions[shared], group[shared]
        if not len(positions):
            break
    return len(positions)
