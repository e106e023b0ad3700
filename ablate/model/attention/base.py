"""The seam of attention: the kernel between the projections."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.laws import Law

# torch's CPU kernels take the exponentials of a row one by one when it is shorter than a vector of
# 16 floats, about ten times slower per key; kernels extend such rows by keys of weight 0
VECTOR = 16


class Kernel(nn.Module, ABC):
    """Mixes values by how well queries match keys; built as `attention(d_head=..., dropout=...)`.

    It is linear in the values when dropout is off (`ablate.model.inspect` relies on that).
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(
        self,
        q: Float[Tensor, "B H Q E"],
        k: Float[Tensor, "B H K E"],
        v: Float[Tensor, "B H K W"],
        keep: Bool[Tensor, "#B 1 #Q #K"] | None,
    ) -> tuple[Float[Tensor, "B H Q W"], Float[Tensor, "B H Q K"] | None]:
        """Return the mixed values, and the weights where the kernel has them at hand.

        Query i may attend to key j where keep[.., i, j] is True; None keeps everything.
        """


def scale_factor(scale: str, d_head: int) -> float:
    """Return the number that multiplies the scores.

    Raises:
        UserError: `scale` is not one of sqrt_d_head, none, d_head.
    """
    factors = {"sqrt_d_head": d_head**-0.5, "none": 1.0, "d_head": 1 / d_head}
    if scale not in factors:
        raise UserError(f"model.attention.scale is {scale!r}: it must be one of {tuple(factors)}")
    return factors[scale]
