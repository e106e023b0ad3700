"""Soft-capped logits: a scaled tanh limits them to an interval.

Equation: logits = cap * tanh(W h / cap).
Source: arXiv:2408.00118, section 2 (Gemma 2: cap 30 for the logits of the last layer).
What differs: Gemma 2 also caps the attention scores, at 50; here attention scores are not capped.
    The logits of a batch are computed at once, whereas `linear` computes them in chunks.
What to expect: logits stay between -cap and cap, and small logits hardly change. The loss of a
    trained model is nearly the same, and training takes more memory.
"""

from collections.abc import Callable
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.config.limits import Range
from ablate.loss.base import Loss
from ablate.model.head.linear import LinearHead


class SoftCap(LinearHead):
    """A linear head whose logits pass through a scaled tanh.

    Args:
        weight: function that returns the matrix of shape "V D".
        cap: upper limit of the absolute value of a logit.
    """

    def __init__(
        self, *, weight: Callable[[], Tensor], cap: Annotated[float, Range(0, above=True)]
    ) -> None:
        super().__init__(weight)
        self.cap = cap

    def forward(self, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits over the target vocabulary."""
        return self.cap * torch.tanh(super().forward(states) / self.cap)

    def score(
        self, loss: Loss, states: Float[Tensor, "N D"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the objective and the nll as means over the targets, from all logits at once.

        `LinearHead` computes the logits and their gradient in chunks of rows. This class does not,
        because that gradient would lack the factor of the tanh that limits the logits.
        """
        return loss(self(states), targets)
