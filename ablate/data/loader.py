"""From line numbers to padded batches, and a loader that can stop and go on."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, Dataset

from ablate.data.batch import Batch
from ablate.data.batching import Batches, Rows, TrainingBatches
from ablate.data.cache import TokenIds
from ablate.data.vocabulary import BOS, EOS, PAD


class SentencePairs(Dataset[Batch]):
    """The pairs of a split; asked for several line numbers at once, it gives a Batch.

    A sentence of more than `max_length` tokens, EOS counted, is cut to that length.
    """

    def __init__(self, src: TokenIds, tgt: TokenIds, max_length: int):
        self._src = src
        self._tgt = tgt
        self._max_length = max_length

    def __getitem__(self, rows: Rows) -> Batch:
        src = padded(self._src, rows, self._max_length)
        tgt = padded(self._tgt, rows, self._max_length)
        tgt_in = np.roll(tgt, 1, axis=1)
        tgt_in[tgt_in == EOS] = PAD
        tgt_in[:, 0] = BOS
        return Batch(*(torch.from_numpy(part) for part in (src, tgt_in, tgt, rows.copy())))


def padded(tokens: TokenIds, rows: Rows, max_length: int) -> npt.NDArray[np.int64]:
    """Return the ids of some sentences, each ended by EOS and filled up with PAD."""
    found, lengths = tokens.read(rows, max_length - 1)
    columns = np.arange(lengths.max(initial=0) + 1)
    ids = np.where(columns == lengths[:, None], EOS, PAD)
    ids[columns < lengths[:, None]] = found
    return ids


class EvaluationLoader(DataLoader[Batch]):
    """Batches of a split in their fixed order."""

    def __init__(self, pairs: SentencePairs, batches: Batches, seed: int):
        super().__init__(
            pairs,
            sampler=batches,
            batch_size=None,  # the sampler gives whole batches
            generator=torch.Generator().manual_seed(seed),  # leaves the global one alone
        )


class TrainingLoader(EvaluationLoader):
    """Training batches, with a position that a checkpoint can hold.

    The position counts the batches handed out in this epoch and is 0 after the last one. An
    iteration begins where `load_state_dict` said, if the epoch is still the same, and otherwise
    at the first batch.
    """

    def __init__(self, pairs: SentencePairs, batches: TrainingBatches, seed: int):
        super().__init__(pairs, batches, seed)
        self._training_batches = batches
        self._position = 0
        self._resume_at: dict[str, int] | None = None

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        # nothing here runs before the first batch is asked for: by then the epoch has been set
        first = self._first_batch()
        self._training_batches.skip = first
        for done, batch in enumerate(super().__iter__(), start=first + 1):
            self._position = done % len(self)
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Return where training stands."""
        return {"epoch": self._training_batches.epoch, "position": self._position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Let the next iteration begin where `state` was taken."""
        self._training_batches.set_epoch(state["epoch"])
        self._position = state["position"]
        self._resume_at = state

    def _first_batch(self) -> int:
        state, self._resume_at = self._resume_at, None
        same_epoch = state is not None and state["epoch"] == self._training_batches.epoch
        return state["position"] if state is not None and same_epoch else 0
