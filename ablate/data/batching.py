"""Group sentences into batches of a limited number of tokens, and load the batches.

The width of a batch of n pairs is the length of its longest sentence on either side, including BOS
or EOS. n times the width never exceeds the token budget. Batches are formed once for all ranks
(processes of a distributed run) and then distributed, so the content of a batch does not depend on
the number of devices. A loader can stop and resume.
"""

import functools
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor
from torch.utils.data import Sampler

from ablate.data import EOS, PAD
from ablate.data.tokenizer import TokenIds
from ablate.errors import UserError

Ids = Int[np.ndarray, "B _"]
Draw = Callable[[int], np.random.Generator]  # generator of a line, by line number


class Batch(NamedTuple):
    """A batch of B examples of a task, padded with PAD.

    A batch may be empty (B = 0): in a distributed evaluation, a process for which no data is left
    gets empty batches.
    """

    inputs: Any  # what the model reads: `Seq2Seq`, or another type that the task defines
    targets: Int[Tensor, "B T"]  # what the model must predict at each position; PAD is not scored
    lines: Int[Tensor, " B"]  # line numbers of the examples in their split
    tokens: int | None = None  # number of targets that are not PAD; None: not counted yet
    # indices of these targets among all targets; None: no target is PAD, or not counted yet
    real: Int[Tensor, " N"] | None = None

    def with_counts(self) -> "Batch":
        """Return this batch, which must be on the CPU, with `tokens` and `real` filled in.

        On a GPU, training would have to wait for these numbers.
        """
        real = np.flatnonzero(self.targets.numpy() != PAD)
        padded = len(real) < self.targets.numel()
        return self._replace(tokens=len(real), real=torch.from_numpy(real) if padded else None)


# Build a batch from source ids, target ids (each row ends with EOS and is padded with PAD), line
# numbers, and a source of random numbers.
Collate = Callable[[Ids, Ids, Int[np.ndarray, " B"], Draw], Batch]
# Replace targets that the task never scores by PAD; the arguments are those of `Collate`.
ScoredTargets = Callable[[Ids, Ids, Int[np.ndarray, " B"], Draw], Ids]


Rows = npt.NDArray[np.integer[Any]]
NOTHING = np.empty(0, np.int64)  # the batch of a rank without work
SHUFFLE = 0  # seed of the fixed random order that evaluation without buckets uses


@dataclass(frozen=True)
class Sizes:
    """The sentence pairs of a split that are used: the line number of each pair, and the lengths of
    both sides in tokens, including EOS.
    """

    rows: Rows
    src: Rows
    tgt: Rows

    @property
    def width(self) -> Rows:
        """Length of the longer side of each pair."""
        return np.maximum(self.src, self.tgt)


@dataclass(frozen=True)
class Rank:
    """Index of this process in a distributed run, and the number of processes."""

    index: int
    world_size: int


class Epoch(NamedTuple):
    """The batches of all ranks in an epoch: their number, and a function that returns a batch by
    its index; a batch is an array of line numbers, or of positions in a stream of tokens.
    """

    total: int
    batch: Callable[[int], Rows]


Epochs = Callable[[int], Epoch]  # the batches of an epoch, given its number


class Batches(Sampler[Rows]):
    """A sampler of the batches of this rank (process of a distributed run).

    Rank r of n gets the batches r, r + n, r + 2n, ... of each epoch, and every rank gets the same
    number of batches. If the number of batches is not a multiple of n, the remaining batches are
    dropped in training; in evaluation, ranks that run out of batches get empty batches.

    Args:
        make: function that returns the batches of an epoch.
        rank: this process.
        evaluates: whether no batch may be dropped.
        repeats: whether every epoch has the batches of the first epoch.
    """

    def __init__(self, make: Epochs, rank: Rank, *, evaluates: bool, repeats: bool = False) -> None:
        self.rank = rank
        self.epoch = 0
        self.repeats = repeats
        self.skip = 0  # number of batches that the next iteration skips at its start
        self._make = functools.lru_cache(1)(make)
        self._evaluates = evaluates

    def __len__(self) -> int:
        total, world_size = self._make(self.epoch).total, self.rank.world_size
        return -(-total // world_size) if self._evaluates else total // world_size

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which may determine the order; Lightning calls this before each epoch."""
        self.epoch = 0 if self.repeats else epoch

    def __iter__(self) -> Iterator[Rows]:
        total, batch = self._make(self.epoch)
        for turn in range(self.skip, len(self)):
            number = turn * self.rank.world_size + self.rank.index
            yield batch(number) if number < total else NOTHING


def training_batches(sizes: Sizes, tokens: int, bucket: bool, seed: int, epoch: int) -> Epoch:
    """Return the training batches of an epoch in a random order that depends only on seed and
    epoch.

    With `bucket`, a batch contains sentences of similar lengths. Without it, batches are random and
    contain more padding. Because of the random order, each epoch drops different batches.
    """
    random = np.random.default_rng([seed, epoch])
    order = shuffled(random, len(sizes.rows))
    if bucket:
        order = by_length(sizes, order)
    spans = pack(order, sizes.width, tokens)
    return _batches_in(sizes.rows[order], spans[random.permutation(len(spans))])


def evaluation_batches(sizes: Sizes, tokens: int, bucket: bool, epoch: int) -> Epoch:
    """Return the evaluation batches, which have every sentence exactly once and are the same in
    every epoch.

    With `bucket`, sentences of similar lengths share a batch, from short to long. Without it, the
    grouping is random, but the same in every run.
    """
    if bucket:
        order = by_length(sizes, numbered(len(sizes.rows)))
    else:
        order = shuffled(np.random.default_rng(SHUFFLE), len(sizes.rows))
    return _batches_in(sizes.rows[order], pack(order, sizes.width, tokens))


def _batches_in(rows: Rows, spans: Rows) -> Epoch:
    """Return batches that are parts of one array: batch i is `rows[start:end]` with `start, end =
    spans[i]`.
    """
    return Epoch(len(spans), lambda number: rows[slice(*spans[number])].astype(np.int64))


def numbered(count: int) -> Rows:
    """Return the numbers 0 to `count - 1` in the smallest integer type that can represent
    `count`.
    """
    return np.arange(count, dtype=np.min_scalar_type(count))


def shuffled(random: np.random.Generator, count: int) -> Rows:
    """Return the numbers 0 to `count - 1` in random order, in the integer type of `numbered`."""
    return random.permutation(count).astype(np.min_scalar_type(count))


def by_length(sizes: Sizes, order: Rows) -> Rows:
    """Return the indices in `order`, sorted so that neighbouring pairs have similar lengths on the
    source and the target side.

    Pairs are sorted by the length of their longer side. Among pairs of equal length, the difference
    between the two sides alternately rises and falls, so that lengths never jump between
    neighbours. Pairs with equal lengths on both sides keep their order in `order`.

    Args:
        sizes: the pairs.
        order: indices of pairs in `sizes`.
    """
    return order[np.argsort(_length(sizes.src[order], sizes.tgt[order]), kind="stable")]


def _length(src: Rows, tgt: Rows) -> Rows:
    """Return the sorting key of `by_length`: one integer per pair, at most the squared length of
    the longer side.
    """
    width, difference = np.maximum(src, tgt).astype(np.int64), tgt.astype(np.int64) - src
    return width * (width - 1) + np.where(width % 2 == 0, difference, -difference)


def pack(order: Rows, width: Rows, tokens: int) -> Rows:
    """Cut `order` into the largest possible batches, and return a row `(start, end)` for each
    batch, which then consists of the pairs `order[start:end]`.

    Args:
        order: indices of pairs in the order in which they fill the batches.
        width: length of the longer side of each pair, by index.
        tokens: largest number of pairs times width in a batch; at least the largest `width`.

    Raises:
        UserError: `tokens` is below the largest `width`.
    """
    widths = width[order]
    spans, start = array("q"), 0
    while start < len(order):
        ahead = widths[start : start + tokens // int(widths[start])]
        filled = np.maximum.accumulate(ahead) * np.arange(1, len(ahead) + 1)
        end = start + int(np.searchsorted(filled, tokens, side="right"))
        if end == start:
            raise UserError(
                f"a batch may have {tokens} tokens, but a sentence has {widths[start]} tokens with "
                "EOS: allow at least as many tokens in a batch"
            )
        spans.extend((start, end))
        start = end
    return np.array(spans).reshape(-1, 2)


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
        collate: Collate | ScoredTargets,
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
