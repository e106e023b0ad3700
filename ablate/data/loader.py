"""From line numbers to padded batches, and a loader that can stop and go on."""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, Dataset

from ablate.data.batch import Batch, Collate
from ablate.data.batching import Rows
from ablate.data.cache import TokenIds
from ablate.data.vocabulary import EOS, PAD


class Examples(Dataset[Batch]):
    """The lines of a split as examples of a task; asked for several of them, it gives a Batch.

    Args:
        src: token ids of the sources.
        tgt: token ids of the targets.
        max_length: tokens, EOS counted, to which longer sentences are cut.
        columns: padding added to every batch of sources, on top of the token budget, so that it
            changes nobody's company. Targets get none: the causal mask hides what stands to their
            right from every real position.
        collate: makes the batches, as a task wants them.
        seed: of what it draws.
    """

    def __init__(  # noqa: PLR0913
        self,
        src: TokenIds,
        tgt: TokenIds,
        *,
        max_length: int,
        columns: int,
        collate: Collate,
        seed: int,
    ):
        self._src = src
        self._tgt = tgt
        self._max_length = max_length
        self._columns = columns
        self._collate = collate
        self._seed = seed
        self.epoch = 0

    def __getitem__(self, lines: Rows) -> Batch:
        src = padded(self._src, lines, self._max_length)
        tgt = padded(self._tgt, lines, self._max_length)
        src = np.pad(src, ((0, 0), (0, self._columns)), constant_values=PAD)
        return self._collate(src, tgt, lines, self._draw)

    def _draw(self, line: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, self.epoch, line])


def padded(tokens: TokenIds, rows: Rows, max_length: int) -> npt.NDArray[np.int64]:
    """Return the ids of some sentences, each ended by EOS and filled up with PAD."""
    found, lengths = tokens.read(rows, max_length - 1)
    columns = np.arange(lengths.max(initial=0) + 1)
    ids = np.where(columns == lengths[:, None], EOS, PAD)
    ids[columns < lengths[:, None]] = found
    return ids


@runtime_checkable
class ByEpoch(Protocol):
    """Examples that may draw anew in every epoch."""

    epoch: int

    def __getitem__(self, rows: Rows) -> Batch: ...


@runtime_checkable
class InEpochs(Protocol):
    """Batches whose order follows from the epoch; an iteration leaves out the first `skip`."""

    epoch: int
    skip: int

    def set_epoch(self, epoch: int) -> None:
        """Go to another epoch."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Rows]: ...


class EvaluationLoader(DataLoader[Batch]):
    """Batches of a split in their fixed order."""

    def __init__(self, examples: Any, batches: Any, seed: int):
        super().__init__(
            examples,
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

    def __init__(self, examples: ByEpoch, batches: InEpochs, seed: int):
        super().__init__(examples, batches, seed)
        self._examples = examples
        self._training_batches = batches
        self._position = 0
        self._resume_at: dict[str, int] | None = None

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        # nothing here runs before the first batch is asked for: by then the epoch has been set
        first = self._first_batch()
        self._training_batches.skip = first
        self._examples.epoch = self._training_batches.epoch
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
