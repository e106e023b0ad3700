"""The encoder stack (arXiv:1706.03762, section 3.1)."""

from collections.abc import Callable, Sequence
from typing import cast

from jaxtyping import Bool, Float
from torch import Tensor, nn

from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.dropout import Dropout
from ablate.model.feed_forward.base import FeedForward
from ablate.model.linear import to_product_dtype
from ablate.model.padding.base import Padding
from ablate.model.position.base import Position
from ablate.model.residual.base import Residual


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.residuals = nn.ModuleList(residual() for _ in range(2))

    def forward(
        self, x: Float[Tensor, "B S D"], keep: Bool[Tensor, "#B 1 #S #S"] | None
    ) -> Float[Tensor, "B S D"]:
        """Return the tokens after both sub-layers."""
        to_self, to_feed_forward = self.residuals
        x = to_self(x, lambda x: self.self_attention(x, x, keep))
        return to_feed_forward(x, self.feed_forward)


class Encoder(nn.Module):
    """Positions, dropout, the layers, and the final norm where the residual wants one."""

    def __init__(
        self,
        layers: Sequence[EncoderLayer],
        final_norm: nn.Module,
        position: Position,
        padding: Padding,
        dropout: float,
    ) -> None:
        super().__init__()
        self.position = position
        self.dropout = Dropout(dropout)
        self.layers = cast("Sequence[EncoderLayer]", nn.ModuleList(layers))
        self.final_norm = final_norm
        self.padding = padding

    def forward(
        self, x: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        """Return the encoded tokens."""
        x = to_product_dtype(self.dropout(self.position(x, offset=0)))
        keep = self.padding.keep(real, real)
        for layer in self.layers:
            x = layer(x, keep)
        return self.final_norm(x)
