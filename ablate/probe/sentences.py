"""Random sentences, for probes that need no corpus."""

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.data.vocabulary import EOS, PAD
from ablate.model.base import Model
from ablate.model.embedding import Table


def random_sentences(
    model: Model, lengths: list[int], generator: torch.Generator
) -> Int[Tensor, "B L"]:
    """Return one random sentence per length, padded to the longest; usable as source or target."""
    vocabulary = min(m.weight.size(0) for m in model.modules() if isinstance(m, Table))
    ids = torch.randint(EOS + 1, vocabulary, (len(lengths), max(lengths)), generator=generator)
    return ids.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], PAD)
