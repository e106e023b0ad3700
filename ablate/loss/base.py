"""The interface of losses."""

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate.data.vocabulary import PAD


class Law(Enum):
    """Properties that tests check for every loss, unless its class declares an exception."""

    NLL_WITHOUT_SMOOTHING = "a loss whose epsilon is 0 equals the negative log-likelihood"


class Scored(NamedTuple):
    """Sums over rows of logits: the objective and the nll.

    The contribution of the uniform part of the target is left to the caller: the objective lacks
    `uniform` times the sum of all logits, and each entry of the gradient lacks `uniform`. If a
    linear layer computes the logits, this needs no pass over them. `uniform` is a constant of the
    loss.
    """

    objective: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    uniform: float = 0.0


class Loss(nn.Module, ABC):
    """The objective of training, with the unsmoothed nll by which arms are compared."""

    breaks: ClassVar[frozenset[Law]] = frozenset()
    # whether the objective is a mean over rows, so that it can be computed in chunks of rows
    mean_over_rows: ClassVar[bool] = False
    counts_padding: ClassVar[bool] = False  # whether rows whose target is PAD are included

    def counted(self, targets: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
        """Return a mask of the positions that the loss uses."""
        return torch.ones_like(targets).bool() if self.counts_padding else targets != PAD

    @abstractmethod
    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return means over the N rows: the objective, and the nll in nats without gradient.

        The rows are those that `counted` selects: real tokens, and padding if the loss includes it.
        """

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], out: Float[Tensor, "N V"]
    ) -> Scored:
        """Write the objective's gradient by the logits to `out`; return the sums over N rows.

        A loss with a gradient in closed form overrides this, and needs no autograd graph.
        """
        with torch.enable_grad():
            logits = logits.detach().requires_grad_()
            objective, nll = self(logits, targets)
            (gradient,) = torch.autograd.grad(objective * len(targets), logits)
        out.copy_(gradient)
        return Scored(objective.detach() * len(targets), nll * len(targets))
