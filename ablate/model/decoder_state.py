"""What decoding remembers between steps, so that a step costs one token."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.model.attention.base import VECTOR
from ablate.model.attention.multi_head import Packed

Heads = tuple[Float[Tensor, "M H K E"], Float[Tensor, "M H K E"]]


class DecoderState:
    """Keys and values of `beams` hypotheses of each sentence, row = sentence * beams + beam.

    The hypotheses of a sentence write into one cache, and `reads` says which of its entries are a
    hypothesis's own past: to go on from another hypothesis copies this mask and no keys. Keys and
    values of cross-attention exist once per sentence.

    Args:
        projections: query, key and value of each layer's self-attention.
        cross: keys and values that cross-attention reads, per layer.
        keep: padding mask of cross-attention; its queries are the beams of a sentence.
        beams: rows per sentence.
    """

    def __init__(
        self,
        projections: list[Packed],
        cross: Float[Tensor, "layers 2 M H S E"],
        keep: Bool[Tensor, "M 1 #beams #S"] | None,
        beams: int,
    ) -> None:
        self.projections = projections
        self.cross, self.keep_cross = _wide(cross, keep)
        self.beams = beams
        layers, _, sentences, heads, _, d_head = cross.shape
        room = VECTOR * beams  # a multiple of VECTOR, and so is its double
        self.past = cross.new_zeros(layers, 2, sentences, heads, room, d_head)
        self.reads = torch.zeros(sentences, beams, room, dtype=torch.bool, device=cross.device)
        self.length = 0

    @property
    def rows(self) -> int:
        """Number of rows, sentences times beams."""
        return self.reads.size(0) * self.beams

    def begin_step(self) -> None:
        """Make room for one more position, which every hypothesis will read itself."""
        new = self._new
        if new.start == self.past.size(4):
            self.past = torch.cat([self.past, torch.zeros_like(self.past)], 4)
            self.reads = torch.cat([self.reads, torch.zeros_like(self.reads)], 2)
        own = torch.eye(self.beams, dtype=torch.bool, device=self.reads.device)
        self.reads[:, :, new] = own

    def end_step(self) -> None:
        """Go on to the next position."""
        self.length += 1

    def extend(self, layer: int, keys: Float[Tensor, "M H N E"], values: Tensor) -> Heads:
        """Store what a layer's self-attention reads at this step; return all it has so far."""
        past_keys, past_values = self.past[layer]
        past_keys[:, :, self._new] = keys
        past_values[:, :, self._new] = values
        return past_keys[:, :, : self._width], past_values[:, :, : self._width]

    @property
    def keep_self(self) -> Bool[Tensor, "M 1 N K"]:
        """Which of the keys each hypothesis may read at this step."""
        return self.reads[:, None, :, : self._width]

    @property
    def _new(self) -> slice:
        return slice(self.length * self.beams, (self.length + 1) * self.beams)

    @property
    def _width(self) -> int:
        return -(-self._new.stop // VECTOR) * VECTOR

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Let row i go on from what row rows[i] of the same sentence has decoded."""
        self.reads = self.reads.flatten(0, 1).index_select(0, rows).view_as(self.reads)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these, with all their rows."""
        self.past = self.past.index_select(2, sentences)
        self.reads = self.reads.index_select(0, sentences)
        self.cross = self.cross.index_select(2, sentences)
        if self.keep_cross is not None:
            self.keep_cross = self.keep_cross.index_select(0, sentences)


def _wide(
    cross: Float[Tensor, "layers 2 M H S E"], keep: Bool[Tensor, "M 1 #beams #S"] | None
) -> tuple[Tensor, Tensor | None]:
    """Return them with masked keys up to VECTOR, once rather than at every step."""
    missing = VECTOR - cross.size(4)
    if keep is None or missing <= 0:
        return cross, keep
    every = keep.expand(-1, -1, -1, cross.size(4))
    return F.pad(cross, (0, 0, 0, missing)), F.pad(every, (0, missing))
