"""The interface of normalisation layers."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor, nn

from ablate.model.laws import Law

Vectors = Float[Tensor, "*N D"]  # the vectors of tokens, after any other dimensions
Real = Bool[Tensor, "*N"]  # False at padding


class Norm(nn.Module, ABC):
    """Normalises the vector of each token; built as `norm(d_model=...)`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return the normalised vectors.

        `real` is False at padding; None: there is no padding.
        """
