"""Which sentences go into which batch.

A batch of n pairs is as wide as its longest sentence of either side, BOS or EOS counted, and
n times this width never exceeds the token budget. Batches are formed for all ranks alike and
then dealt out, so what is in a batch does not depend on the number of devices.
"""

from abc import abstractmethod
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from torch.utils.data import Sampler

Rows = npt.NDArray[np.integer[Any]]
SHUFFLE = 0  # seed of the one order in which evaluation without buckets goes through a split
PART = 1 << 17  # pairs looked at together, so that memory holds little more than the results


@dataclass(frozen=True)
class Sizes:
    """The pairs of a split that are used: line numbers, and lengths with EOS counted."""

    rows: Rows
    src: Rows
    tgt: Rows

    @property
    def width(self) -> Rows:
        """The longer side of each pair."""
        return np.maximum(self.src, self.tgt)


@dataclass(frozen=True)
class Rank:
    """One process among those that share the work."""

    index: int
    world_size: int


class PackedBatches(NamedTuple):
    """Batches without an array of their own: batch i is `rows[start:end]` of `spans[i]`."""

    rows: Rows
    spans: Rows


class Batches(Sampler[Rows]):
    """The batches of this rank, as numbers that name their examples."""

    def __init__(self, rank: Rank):
        self.rank = rank

    @abstractmethod
    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Rows]:
        return self._from(0)

    @abstractmethod
    def _from(self, first: int) -> Iterator[Rows]:
        """Yield the batches from number `first` on."""


class FormedBatches(Batches):
    """Batches of lines, which are formed for all ranks together."""

    def __init__(self, rank: Rank):
        super().__init__(rank)
        self._mine: PackedBatches | None = None

    def __len__(self) -> int:
        return len(self._batches().spans)

    @abstractmethod
    def form(self) -> PackedBatches:
        """Return the batches of all ranks, as many for one as for the other."""

    def _from(self, first: int) -> Iterator[Rows]:
        rows, spans = self._batches()
        return (rows[start:end].astype(np.int64) for start, end in spans[first:])

    def _batches(self) -> PackedBatches:
        if self._mine is None:
            rows, spans = self.form()
            self._mine = PackedBatches(rows, spans[self.rank.index :: self.rank.world_size])
        return self._mine


class TrainingBatches(FormedBatches):
    """Batches in an order that follows from seed and epoch alone.

    `bucket` puts sentences of like lengths together; otherwise batches are random, with more
    padding. The last batches that would not fill all ranks are left out, other ones each epoch.
    """

    def __init__(self, sizes: Sizes, tokens: int, bucket: bool, seed: int, rank: Rank):
        super().__init__(rank)
        self.epoch = 0
        self.skip = 0  # batches that the next iteration leaves out at its beginning
        self._sizes = sizes
        self._tokens = tokens
        self._bucket = bucket
        self._seed = seed

    def __iter__(self) -> Iterator[Rows]:
        return self._from(self.skip)

    def set_epoch(self, epoch: int) -> None:
        """Go to another epoch: Lightning calls this before each one."""
        if epoch != self.epoch:
            self.epoch = epoch
            self._mine = None

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
    """Every sentence exactly once, in the same company on any number of devices.

    `bucket` puts sentences of like lengths together, from short to long; otherwise their company
    is random, but the same for every run. Ranks that run out of batches get empty ones.
    """

    def __init__(self, sizes: Sizes, tokens: int, bucket: bool, rank: Rank):
        super().__init__(rank)
        self._sizes = sizes
        self._tokens = tokens
        self._bucket = bucket

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
    """Return the numbers below `count`, as narrow as they can be."""
    return np.arange(count, dtype=np.min_scalar_type(count))


def shuffled(random: np.random.Generator, count: int) -> Rows:
    """Return the numbers below `count` in random order."""
    return random.permutation(count).astype(np.min_scalar_type(count))


def picked(values: Rows, order: Rows) -> Rows:
    """Return `values[order]`, which NumPy would give a 64-bit copy of `order` while it works."""
    found = np.empty(len(order), values.dtype)
    for start in range(0, len(order), PART):
        found[start : start + PART] = values[order[start : start + PART]]
    return found


def by_length(sizes: Sizes, order: Rows) -> Rows:
    """Return `order` sorted so that neighbours have like lengths on both sides.

    The longer side decides. Within one such length the difference between the sides rises and
    falls in turn, so that there is no jump from one length to the next. Ties keep their order.
    """
    # one number for length and place: sorting it in place takes less memory than sorting indices
    places = np.arange(len(order))
    for start in range(0, len(order), PART):
        pairs = order[start : start + PART]
        places[start : start + PART] += len(order) * _length(sizes.src[pairs], sizes.tgt[pairs])
    places.sort()
    places %= len(order)
    return picked(order, places)


def _length(src: Rows, tgt: Rows) -> Rows:
    """Return what `by_length` sorts by, as one number of at most the longer side squared."""
    width, difference = np.maximum(src, tgt).astype(np.int64), tgt.astype(np.int64) - src
    return width * (width - 1) + np.where(width % 2 == 0, difference, -difference)


def pack(order: Rows, width: Rows, tokens: int) -> Rows:
    """Cut `order` into batches, each as large as `tokens` allows: where each begins and ends.

    `tokens` must not be smaller than the largest `width`.
    """
    widths = picked(width, order)
    spans, start = array("q"), 0
    while start < len(order):
        ahead = widths[start : start + tokens // int(widths[start])]
        filled = np.maximum.accumulate(ahead) * np.arange(1, len(ahead) + 1)
        end = start + int(np.searchsorted(filled, tokens, side="right"))
        spans.extend((start, end))
        start = end
    return np.array(spans).reshape(-1, 2)
