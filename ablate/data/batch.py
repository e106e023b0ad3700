"""What the model sees: token ids of a few sentence pairs, padded on the right."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor


@dataclass
class Batch:
    """Token ids of B sentence pairs.

    `src` ends in EOS, `tgt_in` starts with BOS, `tgt_out` is `tgt_in` one step later and ends
    in EOS; all are padded with PAD. `index` is the line number of each pair in its split.
    A batch may be empty (B = 0): ranks that run out of evaluation batches get such a one.
    """

    src: Int[Tensor, "B S"]
    tgt_in: Int[Tensor, "B T"]
    tgt_out: Int[Tensor, "B T"]
    index: Int[Tensor, " B"]

    def __len__(self) -> int:
        return self.src.size(0)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """Return the same batch on another device."""
        parts = (self.src, self.tgt_in, self.tgt_out, self.index)
        return Batch(*(part.to(device, non_blocking=non_blocking) for part in parts))
