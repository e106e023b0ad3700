"""The decoder stack (arXiv:1706.03762, section 3.1), for a whole target or one token at a time."""

from collections.abc import Callable, Sequence
from typing import cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.decoder_state import DecoderState
from ablate.model.dropout import Dropout
from ablate.model.feed_forward.base import FeedForward
from ablate.model.linear import to_product_dtype
from ablate.model.memory import Memory
from ablate.model.padding.base import Padding
from ablate.model.position.base import Position
from ablate.model.residual.base import Residual


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the memory, then feed-forward."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.residuals = nn.ModuleList(residual() for _ in range(3))

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        keep_self: Bool[Tensor, "#B 1 T T"],
        keep_cross: Bool[Tensor, "#B 1 #T #S"] | None,
    ) -> Float[Tensor, "B T D"]:
        """Return the tokens after the three sub-layers."""
        to_self, to_cross, to_feed_forward = self.residuals
        x = to_self(x, lambda x: self.self_attention(x, x, keep_self))
        x = to_cross(x, lambda x: self.cross_attention(x, memory, keep_cross))
        return to_feed_forward(x, self.feed_forward)

    def step(
        self, x: Float[Tensor, "M N D"], layer: int, state: DecoderState
    ) -> Float[Tensor, "M N D"]:
        """Return the newest tokens of the N hypotheses of each sentence after the sub-layers.

        `layer` is this one's number.
        """

        def read_past(x: Tensor) -> Tensor:
            queries, *new = self.self_attention.project(x, state.projections[layer])
            return self.self_attention.read(queries, *state.extend(layer, *new), state.keep_self)

        def read_memory(x: Tensor) -> Tensor:
            keys, values = state.cross[layer]
            return self.cross_attention.attend(x, keys, values, state.keep_cross)

        to_self, to_cross, to_feed_forward = self.residuals
        x = to_cross(to_self(x, read_past), read_memory)
        return to_feed_forward(x, self.feed_forward)


class Decoder(nn.Module):
    """Positions, dropout, the layers, and the final norm where the residual wants one."""

    def __init__(
        self,
        layers: Sequence[DecoderLayer],
        final_norm: nn.Module,
        position: Position,
        padding: Padding,
        dropout: float,
    ) -> None:
        super().__init__()
        self.position = position
        self.dropout = Dropout(dropout)
        self.layers = cast("Sequence[DecoderLayer]", nn.ModuleList(layers))
        self.final_norm = final_norm
        self.padding = padding

    def forward(
        self, x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"], memory: Memory
    ) -> Float[Tensor, "B T D"]:
        """Return the decoded tokens; `real` is False at target padding."""
        x = to_product_dtype(self.dropout(self.position(x, offset=0)))
        past = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).tril()
        keep_pad = self.padding.keep(real, real)
        keep_self = past[None, None] if keep_pad is None else past & keep_pad
        keep_cross = self.padding.keep(real, memory.real)
        for layer in self.layers:
            x = layer(x, memory.states, keep_self, keep_cross)
        return self.final_norm(x)

    @torch.no_grad()
    def start(self, memory: Memory, beams: int) -> DecoderState:
        """Return the state before the first step."""
        pairs = [layer.cross_attention.keys_values(memory.states) for layer in self.layers]
        cross = torch.stack([torch.stack(pair) for pair in pairs])
        projections = [layer.self_attention.packed() for layer in self.layers]
        queries = memory.real.new_ones(memory.real.size(0), beams)
        return DecoderState(projections, cross, self.padding.keep(queries, memory.real), beams)

    @torch.no_grad()
    def step(self, x: Float[Tensor, "R 1 D"], state: DecoderState) -> Float[Tensor, "R D"]:
        """Return the newest tokens, decoded, and advance the state."""
        state.begin_step()
        x = to_product_dtype(self.dropout(self.position(x, offset=state.length)))
        x = x.view(-1, state.beams, x.size(2))
        for number, layer in enumerate(self.layers):
            x = layer.step(x, number, state)
        state.end_step()
        return self.final_norm(x).flatten(0, 1)
