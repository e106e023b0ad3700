"""Define the interface of losses."""

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate.data.vocabulary import PAD


class Law(Enum):
    """A property that tests check for every loss; a loss that violates it lists it in `breaks`."""

    NLL_WITHOUT_SMOOTHING = "a loss whose epsilon is 0 equals the negative log-likelihood"


class Scored(NamedTuple):
    """The objective and the negative log-likelihood (nll), each summed over rows of logits.

    The objective lacks one term, which the caller must add: `uniform` times the sum of all logits.
    The gradient lacks this term too: `uniform` in each entry. With label smoothing, `uniform` is
    minus the probability in the smoothed target of any token except the true token and PAD. Without
    smoothing it is 0. A linear layer can add the term without another pass over the logits.
    """

    objective: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    uniform: float = 0.0


class Loss(nn.Module, ABC):
    """A training objective, together with the unsmoothed nll by which arms are compared."""

    breaks: ClassVar[frozenset[Law]] = frozenset()
    # whether the objective is a mean over rows, so that it can be computed in chunks of rows
    mean_over_rows: ClassVar[bool] = False
    counts_padding: ClassVar[bool] = False  # whether rows whose target is PAD are included

    def counted(self, targets: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
        """Return a mask of the positions that enter the loss."""
        return torch.ones_like(targets).bool() if self.counts_padding else targets != PAD

    @abstractmethod
    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return two means over the N rows: the objective, and the nll in nats without gradient.

        The rows are the positions that `counted` selects: real tokens, and padding if the loss
        includes it.
        """

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], out: Float[Tensor, "N V"]
    ) -> Scored:
        """Write the gradient of the summed objective with respect to the logits to `out`.

        Return the sums of objective and nll over the N rows. A loss whose gradient has a closed
        form overrides this method, and then needs no autograd graph.
        """
        with torch.enable_grad():
            logits = logits.detach().requires_grad_()
            objective, nll = self(logits, targets)
            (gradient,) = torch.autograd.grad(objective * len(targets), logits)
        out.copy_(gradient)
        return Scored(objective.detach() * len(targets), nll * len(targets))
