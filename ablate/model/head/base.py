"""The interface of heads: a head maps the hidden states of a model to logits."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.loss.base import Loss
from ablate.model.laws import Law


class Head(nn.Module, ABC):
    """Maps hidden states to logits; in a Transformer built as `head(weight=...)`.

    `weight` is a function that returns the matrix of shape "V D". The matrix may belong to the
    embedding.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(self, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits over the target vocabulary."""

    def score(
        self, loss: Loss, states: Float[Tensor, "N D"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the objective and the negative log-likelihood, each as a mean over the targets.

        States and targets have N rows, one row for each predicted token.
        """
        return loss(self(states), targets)

    def chunks(self, n: int) -> Iterator[slice]:
        """Yield slices that split n hidden states into chunks whose logits fit into memory."""
        yield slice(0, n)
