"""The interface of normalisation layers."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor, nn

from ablate.model.laws import Law


class Norm(nn.Module, ABC):
    """Normalises the vector of each token; built as `norm(d_model=...)`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "*N D"], real: Bool[Tensor, "*N"] | None = None
    ) -> Float[Tensor, "*N D"]:
        """Return the normalised vectors.

        `real` is False at padding; None: there is no padding.
        """
