"""Which sentences go into which batch.

A batch of n pairs is as wide as its longest sentence of either side, BOS or EOS counted, and
n times this width never exceeds the token budget. Batches are formed for all ranks alike and
then dealt out, so what is in a batch does not depend on the number of devices.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch.utils.data import Sampler

Rows = npt.NDArray[np.int64]
SHUFFLE = 0  # seed of the one order in which evaluation without buckets goes through a split


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


class Batches(Sampler[Rows]):
    """The batches of this rank, as line numbers."""

    def __init__(self, rank: Rank):
        self.rank = rank
        self._mine: list[Rows] | None = None

    def __len__(self) -> int:
        return len(self._batches())

    def __iter__(self) -> Iterator[Rows]:
        return iter(self._batches())

    @abstractmethod
    def form(self) -> list[Rows]:
        """Return the batches of all ranks, as many for one as for the other."""

    def _batches(self) -> list[Rows]:
        if self._mine is None:
            self._mine = self.form()[self.rank.index :: self.rank.world_size]
        return self._mine


class TrainingBatches(Batches):
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
        return iter(self._batches()[self.skip :])

    def set_epoch(self, epoch: int) -> None:
        """Go to another epoch: Lightning calls this before each one."""
        if epoch != self.epoch:
            self.epoch = epoch
            self._mine = None

    def form(self) -> list[Rows]:
        """Return the batches of all ranks in this epoch, shuffled."""
        random = np.random.default_rng([self._seed, self.epoch])
        order = random.permutation(len(self._sizes.rows))
        if self._bucket:
            order = order[by_length(self._sizes.src[order], self._sizes.tgt[order])]
        batches = pack(order, self._sizes.width, self._tokens)
        whole = len(batches) - len(batches) % self.rank.world_size
        return [self._sizes.rows[batches[i]] for i in random.permutation(len(batches))[:whole]]


class EvaluationBatches(Batches):
    """Every sentence exactly once, in the same company on any number of devices.

    `bucket` puts sentences of like lengths together, from short to long; otherwise their company
    is random, but the same for every run. Ranks that run out of batches get empty ones.
    """

    def __init__(self, sizes: Sizes, tokens: int, bucket: bool, rank: Rank):
        super().__init__(rank)
        self._sizes = sizes
        self._tokens = tokens
        self._bucket = bucket

    def form(self) -> list[Rows]:
        """Return the batches of all ranks."""
        if self._bucket:
            order = by_length(self._sizes.src, self._sizes.tgt)
        else:
            order = np.random.default_rng(SHUFFLE).permutation(len(self._sizes.rows))
        batches = pack(order, self._sizes.width, self._tokens)
        missing = -len(batches) % self.rank.world_size
        return [self._sizes.rows[batch] for batch in batches] + [np.empty(0, np.int64)] * missing


def by_length(src: Rows, tgt: Rows) -> Rows:
    """Return an order in which neighbours have like lengths on both sides.

    The longer side decides. Within one such length the difference between the sides rises and
    falls in turn, so that there is no jump from one length to the next. Ties keep their order.
    """
    width, difference = np.maximum(src, tgt), tgt - src
    return np.lexsort((np.where(width % 2 == 0, difference, -difference), width))


def pack(order: Rows, width: Rows, tokens: int) -> list[Rows]:
    """Cut `order` into batches, each as large as `tokens` allows.

    `tokens` must not be smaller than the largest `width`.
    """
    widths = width[order]
    batches, start = [], 0
    while start < len(order):
        ahead = widths[start : start + tokens // widths[start]]
        filled = np.maximum.accumulate(ahead) * np.arange(1, len(ahead) + 1)
        end = start + int(np.searchsorted(filled, tokens, side="right"))
        batches.append(order[start:end])
        start = end
    return batches
