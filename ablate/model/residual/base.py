"""The seam of residual connections: where the norm stands around a sub-layer.

post_ln                 pre_ln                  none
x ----+                 x ----+                 x
|     |                 |     |                 |
|  sublayer             |    norm            sublayer
|     |                 |     |                 |
|  dropout              |  sublayer          dropout
|     |                 |     |                 |
+-->(add)               |  dropout             norm
      |                 |     |                 |
    norm                +-->(add)               y
      |                       |
      y                       y   and one more norm at the end of the stack
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.dropout import Dropout
from ablate.model.laws import Law
from ablate.model.norm.base import Norm

Sublayer = Callable[[Tensor], Tensor]


class Residual(nn.Module, ABC):
    """Wraps one sub-layer; built as `residual(norm=..., dropout=...)`, `norm` being a factory."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    def __init__(self, *, norm: Callable[[], Norm], dropout: float) -> None:
        super().__init__()
        self.norm = norm()
        self.dropout = Dropout(dropout)

    @abstractmethod
    def forward(self, x: Float[Tensor, "B L D"], sublayer: Sublayer) -> Float[Tensor, "B L D"]:
        """Return the new x."""

    def final_norm(self, norm: Callable[[], Norm]) -> nn.Module:
        """Return what ends a stack of such connections: nothing, unless x leaves unnormalised."""
        return nn.Identity()
