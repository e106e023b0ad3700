"""Group sentences into batches of a limited number of tokens.

The width of a batch of n pairs is the length of its longest sentence on either side, including BOS
or EOS. n times the width never exceeds the token budget. Batches are formed once for all ranks
(processes of a distributed run) and then distributed, so the content of a batch does not depend on
the number of devices.
"""

import functools
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from torch.utils.data import Sampler

from ablate.errors import UserError

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


class Formed(NamedTuple):
    """The batches of all ranks in an epoch: their number, and a function that returns a batch by
    its index; a batch is an array of line numbers, or of positions in a stream of tokens.
    """

    total: int
    batch: Callable[[int], Rows]


Form = Callable[[int], Formed]  # forms the batches of an epoch, given the number of the epoch


class Batches(Sampler[Rows]):
    """A sampler of the batches of this rank (process of a distributed run).

    Rank r of n gets the batches r, r + n, r + 2n, ... of each epoch, and every rank gets the same
    number of batches. If the number of batches is not a multiple of n, the remaining batches are
    dropped in training; in evaluation, ranks that run out of batches get empty batches.

    Args:
        form: function that forms the batches of an epoch.
        rank: this process.
        evaluates: whether no batch may be dropped.
        repeats: whether every epoch has the batches of the first epoch.
    """

    def __init__(self, form: Form, rank: Rank, *, evaluates: bool, repeats: bool = False) -> None:
        self.rank = rank
        self.epoch = 0
        self.repeats = repeats
        self.skip = 0  # number of batches that the next iteration skips at its start
        self._form = functools.lru_cache(1)(form)
        self._evaluates = evaluates

    def __len__(self) -> int:
        total, world_size = self._form(self.epoch).total, self.rank.world_size
        return -(-total // world_size) if self._evaluates else total // world_size

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which may determine the order; Lightning calls this before each epoch."""
        self.epoch = 0 if self.repeats else epoch

    def __iter__(self) -> Iterator[Rows]:
        total, batch = self._form(self.epoch)
        for turn in range(self.skip, len(self)):
            number = turn * self.rank.world_size + self.rank.index
            yield batch(number) if number < total else NOTHING


def training_batches(sizes: Sizes, tokens: int, bucket: bool, seed: int, epoch: int) -> Formed:
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
    return _formed(sizes.rows[order], spans[random.permutation(len(spans))])


def evaluation_batches(sizes: Sizes, tokens: int, bucket: bool, epoch: int) -> Formed:
    """Return the evaluation batches, which have every sentence exactly once and are the same in
    every epoch.

    With `bucket`, sentences of similar lengths share a batch, from short to long. Without it, the
    grouping is random, but the same in every run.
    """
    if bucket:
        order = by_length(sizes, numbered(len(sizes.rows)))
    else:
        order = shuffled(np.random.default_rng(SHUFFLE), len(sizes.rows))
    return _formed(sizes.rows[order], pack(order, sizes.width, tokens))


def _formed(rows: Rows, spans: Rows) -> Formed:
    """Return batches that are stored in one array: batch i is `rows[start:end]` with `start, end =
    spans[i]`.
    """
    return Formed(len(spans), lambda number: rows[slice(*spans[number])].astype(np.int64))


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
