"""The interface of residual connections, which include the norm before or after a sub-layer.

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
from ablate.model.norm import Norm

Tokens = Float[Tensor, "B L D"]
Real = Bool[Tensor, "B L"] | None  # False at padding; None in decoding, without padding
Stream = Any  # the residual stream: the tokens, or the object that `enter` returns
Apply = Callable[[Tensor], Tensor]  # a sub-layer


class Depth(NamedTuple):
    """The number of sub-layers in a stack, and the numbers of layers in the whole model.

    Residual connections whose scale depends on the depth use these numbers.
    """

    stack: str  # encoder | decoder
    sublayers: int  # of this stack; shared or parallel sub-layers count once
    encoder_layers: int  # 0 without an encoder
    decoder_layers: int  # 0 without a decoder


class Residual(nn.Module, ABC):
    """The residual connections of a stack: they apply each sub-layer and add its output.

    Built as `residual(norm=, dropout=, depth=)`, where `norm` is a factory. There is a norm for
    each sub-layer; an option that needs more norms creates them.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()
    # whether a norm follows a sub-layer before anything is added, so that the size of its output
    # has no effect
    normalises_outputs: ClassVar[bool] = False

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__()
        self.norms = nn.ModuleList(norm() for _ in range(depth.sublayers))
        self.dropout = Dropout(dropout)

    def enter(self, x: Tokens, real: Real) -> Stream:
        """Return the residual stream at the start of a stack; x are the embedded tokens."""
        return x

    def forward(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return the residual stream after sub-layer number i.

        Code that inspects a model registers hooks on this module: a forward pre-hook may replace
        the stream or the sub-layer.
        """
        return self.through(i, stream, sublayer, real)

    @abstractmethod
    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return the residual stream after sub-layer number i.

        The number is counted from 0; sub-layers that are shared or parallel have a single number.
        """

    def leave(self, stream: Stream, real: Real) -> Tokens:
        """Return the output of the stack, given the residual stream at its end."""
        return stream

    def norms_of(self, i: int) -> list[nn.Module]:
        """Return the norms of sub-layer number i, without norms of the whole stack."""
        return [self.norms[i]]

    def gain(self, parameter: str) -> float:
        """Return the factor by which the initial values of a parameter are multiplied.

        `parameter` is a name within a layer, such as "feed_forward.inner.weight".
        """
        return 1.0
