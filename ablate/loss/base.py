"""The seam of losses."""

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate.data.vocabulary import PAD


class Law(Enum):
    """Properties that tests/laws checks for every loss that does not declare otherwise."""

    NLL_WITHOUT_SMOOTHING = "a loss whose epsilon is 0 equals the negative log-likelihood"


class Scored(NamedTuple):
    """Sums over rows of logits: the objective and the nll.

    The uniform part of the target is left to the caller: `uniform` times the sum of all logits is
    missing in the objective, and `uniform` in each entry of its gradient. Where the logits come
    from a linear map this needs no pass over them. It is a constant of the loss.
    """

    objective: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    uniform: float = 0.0


class Loss(nn.Module, ABC):
    """What training minimises, and the unsmoothed measure that arms are compared by."""

    breaks: ClassVar[frozenset[Law]] = frozenset()
    # whether the objective is a mean over rows, so that it may be taken a chunk of rows at a time
    mean_over_rows: ClassVar[bool] = False
    counts_padding: ClassVar[bool] = False  # whether rows of padding, whose target is PAD, count

    def counted(self, targets: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
        """Return the positions whose rows it is given."""
        return torch.ones_like(targets).bool() if self.counts_padding else targets != PAD

    @abstractmethod
    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return means over the N rows: the objective, and the nll, in nats, without gradient.

        Rows are what `counted` says: real tokens, and padding where that counts.
        """

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], out: Float[Tensor, "N V"]
    ) -> Scored:
        """Return the sums over N rows, and write the objective's gradient by the logits to `out`.

        A loss that knows its gradient in closed form says so here, and needs no graph.
        """
        with torch.enable_grad():
            logits = logits.detach().requires_grad_()
            objective, nll = self(logits, targets)
            (gradient,) = torch.autograd.grad(objective * len(targets), logits)
        out.copy_(gradient)
        return Scored(objective.detach() * len(targets), nll * len(targets))
