"""Group sentences into batches of a limited number of tokens.

The width of a batch of n pairs is the length of its longest sentence on either side, including BOS
or EOS. n times the width never exceeds the token budget. Batches are formed once for all ranks
(processes of a distributed run) and then distributed, so the content of a batch does not depend on
the number of devices.
"""

from abc import abstractmethod
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from torch.utils.data import Sampler

from ablate.errors import UserError

Rows = npt.NDArray[np.integer[Any]]
SHUFFLE = 0  # seed of the fixed random order that evaluation without buckets uses
PART = 1 << 17  # pairs processed at a time, which bounds the memory for intermediate arrays


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


class PackedBatches(NamedTuple):
    """Batches of line numbers, stored in one array: batch i is `rows[start:end]` with `start, end =
    spans[i]`.
    """

    rows: Rows
    spans: Rows


class Batches(Sampler[Rows]):
    """A sampler of the batches of this rank (process of a distributed run); each batch is an array
    of line numbers, or of positions in a stream of tokens.
    """

    def __init__(self, rank: Rank):
        self.rank = rank
        self.epoch = 0
        self.skip = 0  # number of batches that the next iteration skips at its start

    @abstractmethod
    def __len__(self) -> int: ...

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which may determine the order; Lightning calls this before each epoch."""
        self.epoch = epoch


class FormedBatches(Batches):
    """A sampler that forms the batches of all ranks (processes) together and then distributes the
    batches.
    """

    def __init__(self, sizes: Sizes, tokens: int, bucket: bool, rank: Rank):
        super().__init__(rank)
        self._sizes, self._tokens, self._bucket = sizes, tokens, bucket
        self._formed: int | None = None  # epoch of the batches in `_mine`

    def __len__(self) -> int:
        return len(self._batches().spans)

    @abstractmethod
    def form(self) -> PackedBatches:
        """Return the batches of all ranks; every rank gets the same number of batches."""

    def __iter__(self) -> Iterator[Rows]:
        rows, spans = self._batches()
        return (rows[start:end].astype(np.int64) for start, end in spans[self.skip :])

    def _batches(self) -> PackedBatches:
        if self._formed != self.epoch:
            rows, spans = self.form()
            self._mine = PackedBatches(rows, spans[self.rank.index :: self.rank.world_size])
            self._formed = self.epoch
        return self._mine


class TrainingBatches(FormedBatches):
    """A sampler of training batches in a random order that depends only on seed and epoch.

    With `bucket`, a batch contains sentences of similar lengths. Without it, batches are random and
    contain more padding. If the number of batches is not a multiple of the number of ranks, the
    remaining batches are dropped; each epoch drops different batches.
    """

    def __init__(self, sizes: Sizes, tokens: int, bucket: bool, seed: int, rank: Rank):
        super().__init__(sizes, tokens, bucket, rank)
        self._seed = seed

    def form(self) -> PackedBatches:
        """Return the batches of all ranks in this epoch, shuffled."""
        random = np.random.default_rng([self._seed, self.epoch])
        order = shuffled(random, len(self._sizes.rows))
        if self._bucket:
            order = by_length(self._sizes, order)
        spans = pack(order, self._sizes.width, self._tokens)
        whole = len(spans) - len(spans) % self.rank.world_size
        turns = random.permutation(len(spans))[:whole]
        return PackedBatches(picked(self._sizes.rows, order), spans[turns])


class EvaluationBatches(FormedBatches):
    """A sampler of evaluation batches: every sentence occurs exactly once, and the batches do not
    depend on the number of devices.

    With `bucket`, sentences of similar lengths share a batch, from short to long. Without it, the
    grouping is random, but the same in every run. Ranks that run out of batches get empty batches.
    """

    def form(self) -> PackedBatches:
        """Return the batches of all ranks."""
        if self._bucket:
            order = by_length(self._sizes, numbered(len(self._sizes.rows)))
        else:
            order = shuffled(np.random.default_rng(SHUFFLE), len(self._sizes.rows))
        spans = pack(order, self._sizes.width, self._tokens)
        missing = -len(spans) % self.rank.world_size
        spans = np.concatenate([spans, np.zeros((missing, 2), np.int64)])
        return PackedBatches(picked(self._sizes.rows, order), spans)


def numbered(count: int) -> Rows:
    """Return the numbers 0 to `count - 1` in the smallest integer type that can represent
    `count`.
    """
    return np.arange(count, dtype=np.min_scalar_type(count))


def shuffled(random: np.random.Generator, count: int) -> Rows:
    """Return the numbers 0 to `count - 1` in random order, in the integer type of `numbered`."""
    return random.permutation(count).astype(np.min_scalar_type(count))


def picked(values: Rows, order: Rows) -> Rows:
    """Return `values[order]`, without the temporary 64-bit copy of `order` that NumPy would
    make.
    """
    selected = np.empty(len(order), values.dtype)
    for start in range(0, len(order), PART):
        selected[start : start + PART] = values[order[start : start + PART]]
    return selected


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
    # Key and position share one integer: sorting it in place takes less memory than an argsort.
    places = np.arange(len(order))
    for start in range(0, len(order), PART):
        pairs = order[start : start + PART]
        places[start : start + PART] += len(order) * _length(sizes.src[pairs], sizes.tgt[pairs])
    places.sort()
    places %= len(order)
    return picked(order, places)


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
    widths = picked(width, order)
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
