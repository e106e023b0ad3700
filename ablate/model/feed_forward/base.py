"""Define the interface of feed-forward sub-layers."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor

from ablate.model.sublayer import LayerContext, Sublayer


class FeedForward(Sublayer):
    """Transforms each token separately; built as `feed_forward(d_model=, d_ff=, dropout=)`."""

    @abstractmethod
    def transform(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Return the output of the network for each token, before the residual connection."""

    def forward(self, x: Float[Tensor, "B L D"], at: LayerContext) -> Float[Tensor, "B L D"]:
        """Return the output of the network for each token; the context `at` has no effect."""
        return self.transform(x)
