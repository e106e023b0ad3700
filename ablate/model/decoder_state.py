"""What decoding remembers between steps, so that a step costs one token."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

BLOCK = 16  # positions that the caches have room for at first; then they double


class DecoderState:
    """Key-value caches of `beams` rows per sentence, row = sentence * beams + beam.

    Keys and values of all layers lie in one tensor, so that a reordering is one operation; axis
    2 is key or value. Those of cross-attention exist once per sentence.

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
        self.past = cross.new_empty(sentences * beams, layers, 2, heads, BLOCK, d_head)
        self.spare = torch.empty_like(self.past)
        self.length = 0

    @property
    def rows(self) -> int:
        """Number of rows, sentences times beams."""
        return self.past.size(0)

    def reserve(self) -> None:
        """Make room for one more position."""
        if self.length == self.past.size(4):
            self.past = torch.cat([self.past, torch.empty_like(self.past)], 4)
            self.spare = torch.empty_like(self.past)

    def extend(
        self, layer: int, keys: Float[Tensor, "R H 1 E"], values: Float[Tensor, "R H 1 E"]
    ) -> tuple[Float[Tensor, "R H K E"], Float[Tensor, "R H K E"]]:
        """Store what a layer's self-attention reads at this step; return all it has so far."""
        past_keys, past_values = self.past[:, layer].unbind(1)
        past_keys[:, :, self.length] = keys[:, :, 0]
        past_values[:, :, self.length] = values[:, :, 0]
        return past_keys[:, :, : self.length + 1], past_values[:, :, : self.length + 1]

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Let row i go on from what row rows[i] of the same sentence has decoded."""
        # Into memory that is at hand: fresh memory costs more than the copy itself.
        ordered = self.spare[: len(rows)]
        torch.index_select(self.past, 0, rows, out=ordered)
        self.past, self.spare = ordered, self.past

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these, with all their rows."""
        beams = torch.arange(self.beams, device=sentences.device)
        self.reorder((sentences[:, None] * self.beams + beams).flatten())
        self.cross = self.cross.index_select(2, sentences)
        if self.keep_keys is not None:
            self.keep_keys = self.keep_keys.index_select(0, sentences)
