"""What decoding remembers between steps, so that a step costs one token."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

BLOCK = 16  # caches grow by so many positions at a time


class DecoderState:
    """Key-value caches of `beams` rows per sentence, row = sentence * beams + beam.

    Keys and values of all layers lie in one tensor, so that a reordering is one operation; axis
    1 is key or value. Those of cross-attention exist once per sentence.

    Args:
        cross: keys and values that cross-attention reads, per layer.
        keep: padding mask of cross-attention; its queries are the beams of a sentence.
        beams: rows per sentence.
    """

    def __init__(
        self,
        cross: Float[Tensor, "layers 2 M H S E"],
        keep: Bool[Tensor, "M 1 #beams #S"] | None,
        beams: int,
    ) -> None:
        layers, _, sentences, heads, _, d_head = cross.shape
        self.cross, self.keep_keys, self.beams = cross, keep, beams
        self.past = cross.new_empty(layers, 2, sentences * beams, heads, BLOCK, d_head)
        self.length = 0

    @property
    def rows(self) -> int:
        """Number of rows, sentences times beams."""
        return self.past.size(2)

    def reserve(self) -> None:
        """Make room for one more position."""
        if self.length == self.past.size(4):
            more = self.past.new_empty(*self.past.shape[:4], BLOCK, self.past.size(5))
            self.past = torch.cat([self.past, more], 4)

    def extend(
        self, layer: int, keys: Float[Tensor, "R H 1 E"], values: Float[Tensor, "R H 1 E"]
    ) -> tuple[Float[Tensor, "R H K E"], Float[Tensor, "R H K E"]]:
        """Store what a layer's self-attention reads at this step; return all it has so far."""
        now = slice(self.length, self.length + 1)
        past_keys, past_values = self.past[layer, 0], self.past[layer, 1]
        past_keys[:, :, now] = keys
        past_values[:, :, now] = values
        return past_keys[:, :, : now.stop], past_values[:, :, : now.stop]

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Let row i go on from what row rows[i] of the same sentence has decoded."""
        self.past = self.past.index_select(2, rows)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these, with all their rows."""
        beams = torch.arange(self.beams, device=sentences.device)
        self.past = self.past.index_select(2, (sentences[:, None] * self.beams + beams).flatten())
        self.cross = self.cross.index_select(2, sentences)
        if self.keep_keys is not None:
            self.keep_keys = self.keep_keys.index_select(0, sentences)
