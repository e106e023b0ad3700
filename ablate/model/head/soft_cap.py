"""Logits that cannot leave an interval (soft-capping).

Equation: logits = cap * tanh(W h / cap).
Source: arXiv:2408.00118, section 2 (Gemma 2: 30 for the last layer's logits).
What differs: Gemma 2 caps the scores of attention as well, at 50; here they stay as they are. The
    logits of a batch are computed at once, where those of `linear` come in chunks.
What to expect: logits stay within +-cap, so that they cannot drift; below a few units nothing
    changes. The loss of a trained model is hardly another one, with more memory.
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
    """A matrix whose products are squeezed into an interval.

    Args:
        weight: returns the matrix, "V D".
        cap: the largest logit.
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
        """Return the objective and the nll: losses know the gradients of their logits alone."""
        return loss(self(states), targets)
