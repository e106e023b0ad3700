"""More padding than a batch needs, to see whether a model notices it."""

from torch.nn import functional as F

from ablate.data.batch import Batch
from ablate.data.batching import Rows
from ablate.data.cache import TokenIds
from ablate.data.loader import SentencePairs
from ablate.data.vocabulary import PAD


class PaddedSources(SentencePairs):
    """The pairs of a split, with `columns` more columns of padding on the source of every batch.

    They come on top of the token budget, so that they change nobody's company. Targets get none:
    the causal mask hides what stands to their right from every real position.
    """

    def __init__(self, src: TokenIds, tgt: TokenIds, max_length: int, columns: int):
        super().__init__(src, tgt, max_length)
        self._columns = columns

    def __getitem__(self, rows: Rows) -> Batch:
        batch = super().__getitem__(rows)
        batch.src = F.pad(batch.src, (0, self._columns), value=PAD)
        return batch
