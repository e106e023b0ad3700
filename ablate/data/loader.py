"""Turn line numbers into padded batches, with a loader that can stop and resume."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ablate.data.batch import Batch, Collate, Scored
from ablate.data.batching import Batches, Rows
from ablate.data.token_ids import TokenIds
from ablate.data.vocabulary import EOS, PAD


class Examples:
    """The lines of a split; indexing with line numbers returns the result of `collate`.

    Args:
        src: token ids of the sources.
        tgt: token ids of the targets.
        max_length: longer sentences are truncated to this number of tokens, including EOS.
        columns: number of padding columns added to every batch of sources; they do not count
            towards the token budget, so that batches keep the same sentences. Targets get none: the
            causal mask hides trailing padding from every real position.
        collate: builds a batch for the task, or only the targets that the task scores.
        seed: seed of random numbers that `collate` draws.
    """

    def __init__(  # noqa: PLR0913
        self,
        src: TokenIds,
        tgt: TokenIds,
        *,
        max_length: int,
        columns: int,
        collate: Collate | Scored,
        seed: int,
    ):
        self._src, self._tgt = src, tgt
        self._max_length, self._columns = max_length, columns
        self._collate, self._seed = collate, seed
        self.epoch = 0

    def __getitem__(self, lines: Rows) -> Any:
        src = padded(self._src, lines, self._max_length)
        tgt = padded(self._tgt, lines, self._max_length)
        src = np.pad(src, ((0, 0), (0, self._columns)), constant_values=PAD)
        return self._collate(src, tgt, lines, self._draw)

    def _draw(self, line: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, self.epoch, line])


def padded(tokens: TokenIds, rows: Rows, max_length: int) -> npt.NDArray[np.int64]:
    """Return an array with the token ids of one sentence in each row, followed by EOS and PAD.

    Args:
        tokens: the token ids of all sentences.
        rows: line numbers of the sentences.
        max_length: longer sentences are truncated to this number of tokens, including EOS.
    """
    flat_ids, lengths = tokens.read(rows, max_length - 1)
    columns = np.arange(lengths.max(initial=0) + 1)
    ids = np.where(columns == lengths[:, None], EOS, PAD)
    ids[columns < lengths[:, None]] = flat_ids
    return ids


class EvaluationLoader:
    """An iterable of the batches of a split, in a fixed order.

    It is not torch's DataLoader: the sampler already yields complete batches, and no worker
    processes are needed.
    """

    batch_sampler = None  # Lightning asks for it wherever there is a sampler

    def __init__(self, examples: Any, sampler: Batches):
        self.examples, self.sampler = examples, sampler

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[Batch]:
        return (self.examples[rows] for rows in self.sampler)


class TrainingLoader(EvaluationLoader):
    """An iterable of training batches, whose position can be stored in a checkpoint.

    The position is the number of batches yielded in this epoch; it is 0 after the last batch. An
    iteration starts at the position given to `load_state_dict` if the epoch is still the same, and
    otherwise at the first batch.
    """

    def __init__(self, examples: Any, sampler: Batches):
        super().__init__(examples, sampler)
        self._position = 0
        self._resume_at: dict[str, int] | None = None

    def __iter__(self) -> Iterator[Batch]:
        # This method is a generator, so it starts when the first batch is requested. The epoch is
        # set by then.
        epoch = self.examples.epoch = self.sampler.epoch
        state, self._resume_at = self._resume_at, None
        first = state["position"] if state is not None and state["epoch"] == epoch else 0
        self.sampler.skip = first
        for done, batch in enumerate(super().__iter__(), start=first + 1):
            self._position = done % len(self)
            yield batch.with_counts()

    def state_dict(self) -> dict[str, int]:
        """Return the current epoch and position."""
        return {"epoch": self.sampler.epoch, "position": self._position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Make the next iteration start at the position in `state`."""
        self.sampler.set_epoch(state["epoch"])
        self._position = state["position"]
        self._resume_at = state
