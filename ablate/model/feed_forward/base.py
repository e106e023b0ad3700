"""The seam of feed-forward sub-layers."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.laws import Law


class FeedForward(nn.Module, ABC):
    """Transforms each token on its own; built as `feed_forward(d_model=, d_ff=, dropout=)`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return the transformed tokens."""
