"""The seam of positions."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.laws import Law


class Position(nn.Module, ABC):
    """Tells a stack where each token stands; encoder and decoder have one each.

    Built as `position(d_model=...)`. It adds positions and does nothing else: the scale of
    embeddings and dropout are factors of their own.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @property
    def longest(self) -> int | None:
        """Tokens of the longest sequence that has positions; None: there is no limit."""
        return None

    @abstractmethod
    def forward(self, x: Float[Tensor, "B L D"], offset: int) -> Float[Tensor, "B L D"]:
        """Return embeddings with positions; the first of them stands at position `offset`."""
