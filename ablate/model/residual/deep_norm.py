"""DeepNorm: Post-LN with a stronger skip connection and smaller initial values in deeper models.

Equation: y = norm(alpha x + dropout(sublayer(x))); the initial values of feed-forward weights, and
    of value and output projections, are multiplied by beta. With N encoder and M decoder layers:
    encoder alpha = 0.81 (N^4 M)^(1/16), beta = 0.87 (N^4 M)^(-1/16); decoder alpha = (3M)^(1/4),
    beta = (12M)^(-1/4). A single stack of N layers: alpha = (2N)^(1/4), beta = (8N)^(-1/4).
Source: arXiv:2203.00555, figure 2.
What differs: nothing. The projections of queries and keys keep their initial values, unless they
    share a matrix with values, because beta then multiplies this matrix.
What to expect: changes of the model's output in each step stay bounded at any depth, so deep stacks
    train although Post-LN fails. With six layers the quality is that of Post-LN.
"""

from collections.abc import Callable
from typing import ClassVar

from ablate.model.laws import Law
from ablate.model.norm import Norm
from ablate.model.residual.base import Apply, Depth, Real, Residual, Stream

SMALLER = {"feed_forward", "value", "output"}


class DeepNorm(Residual):
    """A residual connection that adds the sub-layer to alpha times its input, then normalises."""

    breaks: ClassVar[frozenset[Law]] = frozenset({Law.INITIAL_VALUES})

    def __init__(self, *, norm: Callable[[], Norm], dropout: float, depth: Depth) -> None:
        super().__init__(norm=norm, dropout=dropout, depth=depth)
        self.alpha, self.beta = constants(depth)

    def through(self, i: int, stream: Stream, sublayer: Apply, real: Real) -> Stream:
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
