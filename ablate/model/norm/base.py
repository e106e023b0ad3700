"""The interface of normalisation layers."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ablate.config.limits import Range
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


class GainNorm(Norm):
    """A norm with a learned gain and, if `has_bias` is true, a learned bias.

    Built as `norm(d_model=...)`; `eps` keeps a divisor away from 0.
    """

    has_bias = False

    def __init__(self, *, d_model: int, eps: Annotated[float, Range(0)]) -> None:
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))
        if self.has_bias:
            self.bias = nn.Parameter(torch.zeros(d_model))
