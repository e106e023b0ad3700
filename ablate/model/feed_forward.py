"""The interface and the options of feed-forward sub-layers."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import OneOf
from ablate.model.layers import Dropout, Linear
from ablate.model.stack import LayerContext, Sublayer, unread


class FeedForward(Sublayer):
    """Transforms each token separately; built as `feed_forward(d_model=, d_ff=, dropout=)`."""

    @abstractmethod
    def transform(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return the output of the network for each token, before the residual connection."""

    def forward(self, x: Float[Tensor, "B L D"], at: LayerContext) -> Float[Tensor, "B L D"]:
        """Return the output of the network for each token; the context `at` has no effect."""
        return self.transform(x)


def identity(x: Tensor) -> Tensor:
    """Return x unchanged; this is the activation function if `activation` is "linear"."""
    return x


def relu_squared(x: Tensor) -> Tensor:
    """Return the square of the positive part."""
    return F.relu(x).square()


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "relu_squared": relu_squared,
    "linear": identity,
}
Activation = Annotated[str, OneOf(tuple(ACTIVATIONS))]


class PositionWise(FeedForward):
    """Position-wise feed-forward network.

    A feed-forward network of two linear maps with an activation between them.

    Equation: W2 dropout(f(W1 x + b1)) + b2, where f is relu, gelu, relu squared or the identity.
    Source: arXiv:1706.03762, section 3.3 (relu); gelu: arXiv:1606.08415 (the exact form, by erf);
        relu_squared: arXiv:2109.08668, section 3.
    What differs: there is dropout after the activation, as in the paper's code (tensor2tensor). The
        text of the paper has none; model.dropout.feed_forward=0 removes it. `linear` has no
        activation, so that the two matrices act as a single matrix of rank at most d_ff.
    What to expect: gelu close to relu; relu_squared somewhat better in language models; linear
        leaves attention and the norms as the only non-linearities.

    Args:
        d_model: width of the tokens.
        d_ff: width after the first map.
        dropout: dropout probability after the activation.
        activation: activation function: relu | gelu | relu_squared | linear (no activation).
    """

    def __init__(self, *, d_model: int, d_ff: int, dropout: float, activation: Activation) -> None:
        super().__init__()
        self.inner = Linear(d_model, d_ff)
        self.outer = Linear(d_ff, d_model)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)

    def transform(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return W2 f(W1 x) for each token, with the activation f and dropout before W2."""
        return self.outer(self.dropout(self.activation(self.inner(x))))


GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "gelu": F.gelu,
    "relu": F.relu,
    "sigmoid": F.sigmoid,
}
Gate = Annotated[str, OneOf(tuple(GATES))]


def equal_width(d_model: int, d_ff: int) -> int:
    """Return the inner width g of a gated network with as many parameters as an ungated one.

    The gated network has three linear maps, the ungated network two maps with inner width d_ff.
    Weights and biases count: 3 d_model g + 2 g = 2 d_model d_ff + d_ff.
    """
    return max(1, round((2 * d_model + 1) * d_ff / (3 * d_model + 2)))


class Gated(FeedForward):
    """Gated feed-forward network (GLU variants), with an inner width of about 2/3 of d_ff, so that
    it has as many parameters as an ungated network.

    A feed-forward network with a gate: W2 (f(W_gate x) * W1 x).

    Equation: W2 dropout(f(W_gate x) * W1 x), where f is silu (SwiGLU), gelu (GEGLU), relu (ReGLU)
        or the logistic function (GLU). All three linear maps have biases.
    Source: arXiv:2002.05202, equations 5 and 6; the gate is that of arXiv:1612.08083.
    What differs: the paper has no biases. The inner width is about 2/3 of d_ff, chosen so that the
        sub-layer has as many parameters as a network of two matrices with width d_ff.
    What to expect: a slightly lower loss than relu or gelu at equal numbers of parameters. A
        forward pass takes three smaller matrix products instead of two.

    Args:
        d_model: width of the tokens.
        d_ff: inner width of the network with two linear maps that this network replaces.
        dropout: dropout probability after the product with the gate.
        activation: activation function of the gate: silu | gelu | relu | sigmoid.
    """

    def __init__(self, *, d_model: int, d_ff: int, dropout: float, activation: Gate) -> None:
        super().__init__()
        width = equal_width(d_model, d_ff)
        self.gate = Linear(d_model, width)
        self.inner = Linear(d_model, width)
        self.outer = Linear(width, d_model)
        self.activation = GATES[activation]
        self.dropout = Dropout(dropout)

    def transform(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return W2 (f(W_gate x) * W1 x) for each token, with dropout before W2."""
        return self.outer(self.dropout(self.activation(self.gate(x)) * self.inner(x)))


class NoFeedForward(FeedForward):
    """No feed-forward network: the sub-layer returns 0.

    A sub-layer that returns zeros, so that nothing is added to the residual stream.

    Equation: out = 0.
    Source: arXiv:2103.03404, which studies attention alone; arXiv:1706.03762, section 3.3, for the
        network that is left out.
    What differs: the residual connection and the norm around it stay, so that layers of all arms
        have the same number of norms. With residual=none the output would be constant.
    What to expect: the highest loss of this factor, because softmax and norms are the only
        non-linearities left.
    """

    def __init__(self, *, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()

    def transform(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return zeros."""
        return unread(torch.zeros_like(x), x)
