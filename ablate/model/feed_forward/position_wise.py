"""Position-wise feed-forward network.

Equation: W2 dropout(f(W1 x + b1)) + b2, where f is relu, gelu, relu squared or the identity.
Source: arXiv:1706.03762, section 3.3 (relu); gelu: arXiv:1606.08415 (the exact form, by erf);
    relu_squared: arXiv:2109.08668, section 3.
What differs: there is dropout after the activation, as in the paper's code (tensor2tensor). The
    text of the paper has none; model.dropout.feed_forward=0 removes it. `linear` has no activation,
    so that the two matrices act as a single matrix of rank at most d_ff.
What to expect: gelu close to relu; relu_squared somewhat better in language models; linear
    leaves attention and the norms as the only non-linearities.
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import check_one_of
from ablate.model.dropout import Dropout
from ablate.model.feed_forward.base import FeedForward
from ablate.model.linear import Linear


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


class PositionWise(FeedForward):
    """A feed-forward network of two linear maps with an activation between them.

    Args:
        d_model: width of the tokens.
        d_ff: width after the first map.
        dropout: dropout probability after the activation.
        activation: activation function: relu | gelu | relu_squared | linear (no activation).

    Raises:
        UserError: `activation` has another value.
    """

    def __init__(self, *, d_model: int, d_ff: int, dropout: float, activation: str) -> None:
        super().__init__()
        check_one_of("model.feed_forward.activation", activation, ACTIVATIONS)
        self.inner = Linear(d_model, d_ff)
        self.outer = Linear(d_ff, d_model)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)

    def transform(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return W2 f(W1 x) for each token, with the activation f and dropout before W2."""
        return self.outer(self.dropout(self.activation(self.inner(x))))
