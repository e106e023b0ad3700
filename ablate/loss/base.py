"""The seam of losses."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.model.laws import Law


class Loss(nn.Module, ABC):
    """What training minimises, and the unsmoothed measure that arms are compared by."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return means over the N rows: the objective, and the nll, in nats, without gradient.

        Rows are real tokens only: whoever calls leaves out padding.
        """

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, "N V"]]:
        """Return sums over the N rows: the objective, the nll; and the former's gradient.

        A loss that knows its gradient in closed form says so here, and needs no graph.
        """
        with torch.enable_grad():
            logits = logits.detach().requires_grad_()
            objective, nll = self(logits, targets)
            (gradient,) = torch.autograd.grad(objective * len(targets), logits)
        return objective.detach() * len(targets), nll * len(targets), gradient
