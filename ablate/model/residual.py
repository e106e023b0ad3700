"""The interface and the options of residual connections, which include the norm before or after a
sub-layer.

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

from ablate.model import Law
from ablate.model.layers import Dropout
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

    @abstractmethod
    def forward(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return the residual stream after sub-layer number i.

        The number is counted from 0; sub-layers that are shared or parallel have a single number.
        Code that inspects a model registers hooks on this module: a forward pre-hook may replace
        the stream or the sub-layer.
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


class PostLN(Residual):
    """Post-LN: the norm after the addition.

    A residual connection that adds the sub-layer's output to its input, then normalises.

    Equation: y = norm(x + dropout(sublayer(x))).
    Source: arXiv:1706.03762, sections 3.1 and 5.4.
    What differs: nothing; the stacks have no further norm (torch.nn.Transformer adds a norm at the
        end of each stack).
    What to expect: at initialisation gradients are largest near the output (arXiv:2002.04745), so
        without learning-rate warm-up training often stays at the unigram distribution.
    """

    def forward(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return norm(x + dropout(sublayer(x)))."""
        return self.norms[i](stream + self.dropout(sublayer(stream)), real)


class PreLN(Residual):
    """Pre-LN: the norm comes before the sub-layer; the skip connection has no norm.

    A residual connection that normalises the input of the sub-layer.

    Equation: y = x + dropout(sublayer(norm(x))), and one norm at the end of each stack.
    Source: arXiv:2002.04745, section 3; earlier in tensor2tensor, the code of the authors of the
        Transformer.
    What differs: nothing. The norm at the end of the stack belongs to this option, because the sum
        x is never normalised before.
    What to expect: trains without warm-up; with warm-up and moderate depth no better than Post-LN,
        often slightly worse (arXiv:1910.05895).
    """

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__(norm=norm, dropout=dropout, depth=depth)
        self.final_norm = norm()

    def forward(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return x + dropout(sublayer(norm(x)))."""
        return stream + self.dropout(sublayer(self.norms[i](stream, real)))

    def leave(self, stream: Stream, real: Real) -> Tokens:
        """Return the residual stream after the last sub-layer, normalised by the final norm."""
        return self.final_norm(stream, real)


class PeriLN(Residual):
    """Peri-LN: a norm before the sub-layer and another norm after it.

    A residual connection that normalises the input and the output of the sub-layer.

    Equation: y = x + norm'(dropout(sublayer(norm(x)))), and one norm at the end of each stack.
    Source: arXiv:2502.02732, section 3; arXiv:2408.00118 (Gemma 2) has the same norms.
    What differs: dropout comes before the second norm, so that the added vector has unit
        size in training and in testing; the paper trains without dropout.
    What to expect: the added vectors cannot grow with depth, so gradients and activations are
        steadier than in Pre-LN; there are two norms for each sub-layer.
    """

    normalises_outputs = True

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__(norm=norm, dropout=dropout, depth=depth)
        self.output_norms = nn.ModuleList(norm() for _ in range(depth.sublayers))
        self.final_norm = norm()

    def forward(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return x + norm'(dropout(sublayer(norm(x))))."""
        output = self.dropout(sublayer(self.norms[i](stream, real)))
        return stream + self.output_norms[i](output, real)

    def norms_of(self, i: int) -> list[nn.Module]:
        """Return the norms before and after sub-layer number i."""
        return [self.norms[i], self.output_norms[i]]

    def leave(self, stream: Stream, real: Real) -> Tokens:
        """Return the residual stream after the last sub-layer, normalised by the final norm."""
        return self.final_norm(stream, real)


class Dual(Residual):
    """ResiDual: two residual streams, one normalised after every addition and one never.

    Residual connections with two streams: one is normalised after every addition, one never.

    Equation: f = dropout(sublayer(p)); p' = norm(p + f), q' = q + f. The streams p and q both start
        with the embedded tokens, and a stack returns p + norm(q).
    Source: arXiv:2304.14802, section 3 (ResiDual).
    What differs: there is dropout, as in the other residuals. The authors' code scales q so that
        half precision does not overflow; here q is not scaled.
    What to expect: gradients reach every layer through q as in Pre-LN, and layers stay different as
        in Post-LN. It is as good as Post-LN, and also trains where Post-LN does not.
    """

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__(norm=norm, dropout=dropout, depth=depth)
        self.final_norm = norm()

    def enter(self, x: Tokens, real: Real) -> Stream:
        """Return the two residual streams (p, q), which both start with the embedded tokens.

        p is normalised after every addition, as in Post-LN, and q is never normalised.
        """
        return x, x

    def forward(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return the residual streams (norm(p + f), q + f), where `stream` is (p, q).

        f is the output of the sub-layer for p, after dropout.
        """
        post, plain = stream
        added = self.dropout(sublayer(post))
        return self.norms[i](post + added, real), plain + added

    def leave(self, stream: Stream, real: Real) -> Tokens:
        """Return p + norm(q) for the two residual streams (p, q) in `stream`."""
        post, plain = stream
        return post + self.final_norm(plain, real)


SMALLER = {"feed_forward", "value", "output"}


class DeepNorm(Residual):
    """DeepNorm: Post-LN with a stronger skip connection and smaller initial values in deeper
    models.

    A residual connection that adds the sub-layer to alpha times its input, then normalises.

    Equation: y = norm(alpha x + dropout(sublayer(x))); the initial values of feed-forward weights,
        and of value and output projections, are multiplied by beta. With N encoder and M decoder
        layers: encoder alpha = 0.81 (N^4 M)^(1/16), beta = 0.87 (N^4 M)^(-1/16); decoder alpha =
        (3M)^(1/4), beta = (12M)^(-1/4). A single stack of N layers: alpha = (2N)^(1/4), beta =
        (8N)^(-1/4).
    Source: arXiv:2203.00555, figure 2.
    What differs: nothing. The projections of queries and keys keep their initial values, unless
        they share a matrix with values, because beta then multiplies this matrix.
    What to expect: changes of the model's output in each step stay bounded at any depth, so deep
        stacks train although Post-LN fails. With six layers the quality is that of Post-LN.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset({Law.INITIAL_VALUES})

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__(norm=norm, dropout=dropout, depth=depth)
        self.alpha, self.beta = constants(depth)

    def forward(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return norm(alpha x + dropout(sublayer(x)))."""
        return self.norms[i](self.alpha * stream + self.dropout(sublayer(stream)), real)

    def gain(self, parameter: str) -> float:
        """Return beta for parameters of feed-forward networks, values and outputs, else 1.

        Biases start at 0, so their factor has no effect.
        """
        return self.beta if SMALLER.intersection(parameter.split(".")) else 1.0


def constants(depth: Depth) -> tuple[float, float]:
    """Return alpha and beta of DeepNorm for a stack."""
    n, m = depth.encoder_layers, depth.decoder_layers
    if not (n and m):
        return (2 * (n + m)) ** 0.25, (8 * (n + m)) ** -0.25
    if depth.stack == "encoder":
        return 0.81 * (n**4 * m) ** 0.0625, 0.87 * (n**4 * m) ** -0.0625
    return (3 * m) ** 0.25, (12 * m) ** -0.25


class NoSkip(Residual):
    """No skip connection: sub-layers follow each other.

    A residual option without a skip connection: norm(dropout(sublayer(x))).

    Equation: y = norm(dropout(sublayer(x))).
    Source: arXiv:1512.03385, section 1, on networks without skip connections; arXiv:2103.03404 on
        attention without skip connections, whose output loses rank doubly exponentially with depth.
    What differs: this is Post-LN without the addition; the norm stays, so that nothing else
        changes. The papers remove the skip connection from other networks.
    What to expect: tokens become more alike with every attention layer; training is slow or fails.
    """

    normalises_outputs = True

    def forward(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
        """Return norm(dropout(sublayer(x)))."""
        return self.norms[i](self.dropout(sublayer(stream)), real)
