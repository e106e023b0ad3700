"""The seam of heads: from states to logits, the way that training, scoring and search share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.loss.base import Loss
from ablate.model.laws import Law


class Head(nn.Module, ABC):
    """Turns states into logits; of a Transformer built as `head(weight=...)`.

    `weight` returns the matrix, "V D", which an embedding may own.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(self, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits over the target vocabulary."""

    def score(
        self, loss: Loss, states: Float[Tensor, "N D"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the objective and the nll of the targets that follow the states."""
        return loss(self(states), targets)

    def chunks(self, n: int) -> Iterator[slice]:
        """Yield slices of n states whose logits fit into memory together."""
        yield slice(0, n)
