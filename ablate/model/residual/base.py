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
from typing import Any, ClassVar, NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn

from ablate.model.dropout import Dropout
from ablate.model.laws import Law
from ablate.model.norm.base import Norm

Tokens = Float[Tensor, "B L D"]
Real = Bool[Tensor, "B L"] | None  # False at padding; None in decoding, which has none
Stream = Any  # what runs past the sub-layers: the tokens, or whatever `enter` makes of them
Apply = Callable[[Tensor], Tensor]  # a sub-layer


class Depth(NamedTuple):
    """How deep the stack of a residual is, and the model around it."""

    stack: str  # encoder | decoder
    sublayers: int  # of this stack; those that layers share, or that act as a sum, count once
    encoder_layers: int  # 0 without an encoder
    decoder_layers: int  # 0 without a decoder


class Residual(nn.Module, ABC):
    """Leads tokens past the sub-layers of one stack; built as `residual(norm=, dropout=, depth=)`.

    `norm` is a factory. There is a norm for each sub-layer; a variant that needs others makes them.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__()
        self.norms = nn.ModuleList(norm() for _ in range(depth.sublayers))
        self.dropout = Dropout(dropout)

    def enter(self, x: Tokens, real: Real) -> Stream:
        """Return the stream that starts with the embedded tokens."""
        return x

    def forward(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return the stream after sub-layer number i; what looks into a model hooks in here.

        A forward pre-hook may return another stream or another sub-layer.
        """
        return self.through(i, stream, sublayer, real)

    @abstractmethod
    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return the stream after sub-layer number i of those that `Depth` counts."""

    def leave(self, stream: Stream, real: Real) -> Tokens:
        """Return the output of the stack."""
        return stream

    def gain(self, parameter: str) -> float:
        """Return what multiplies the initial values of a weight, as "feed_forward.inner.weight"."""
        return 1.0
