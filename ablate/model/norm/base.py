"""The seam of norms."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.laws import Law


class Norm(nn.Module, ABC):
    """Normalises each token's vector on its own; built as `norm(d_model=...)`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(self, x: Float[Tensor, "*N D"]) -> Float[Tensor, "*N D"]:
        """Return the normalised vectors."""
