"""Text as contexts of a fixed length, for language models.

The documents of a split, each followed by EOS, form one stream of tokens. A context is
`batch.context` consecutive tokens, regardless of document boundaries.

In training the stream is circular, and every epoch starts at a random offset: contexts of one epoch
never overlap, but contexts of different epochs do. Each epoch drops the leftover tokens, which are
too few for another batch. In evaluation, the first context starts at the first token, and the last
context is padded with PAD, so that every token counts once.

Memory use does not grow with the text: the random order of the contexts is computed on access
(`Permutation`), and tokens are read from memory-mapped files.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ablate.config.schema import Batching
from ablate.data import PAD
from ablate.data.batching import Batch, Batches, Epoch, Epochs, EvaluationLoader, Ids, Rank, Rows
from ablate.data.module import Counts, TextData
from ablate.data.tokenizer import TokenIds
from ablate.errors import UserError

ROUNDS = 6
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio


class Permutation:
    """A random permutation of the numbers 0 to `count - 1`, which needs no memory: every entry is
    computed on access.

    Equation: to permute the numbers 0 to n - 1, a Feistel network of ROUNDS rounds shuffles all
        numbers of 2b bits, where b is the smallest integer with 2^2b >= n. A result of n or above
        goes through the network again until it is below n.
    Source: Luby and Rackoff 1988, doi:10.1137/0217022; the repetition: Black and Rogaway 2002,
        doi:10.1007/3-540-45760-7_9, section 3 (cycle walking).
    What differs: the round function is a multiplicative hash with random keys, which is not
        cryptographically secure.
    What to expect: an order that training cannot distinguish from a random one, without an array of
        n numbers.

    Args:
        count: number of entries, at least 1.
        random: generator that draws the keys.
    """

    def __init__(self, count: int, random: np.random.Generator) -> None:
        self._count = count
        self._bits = np.uint64(max(1, -(-(count - 1).bit_length() // 2)))
        self._keys = random.integers(1 << 64, size=ROUNDS, dtype=np.uint64)

    def __call__(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers at the given positions of the permutation."""
        numbers = self._shuffled(places.astype(np.uint64))
        while (outside := numbers >= self._count).any():
            numbers[outside] = self._shuffled(numbers[outside])
        return numbers.astype(np.int64)

    def _shuffled(self, numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        half = (np.uint64(1) << self._bits) - np.uint64(1)
        left, right = numbers >> self._bits, numbers & half
        for key in self._keys:
            mixed = (right + key) * ODD
            mixed = (mixed ^ (mixed >> np.uint64(32))) * ODD
            left, right = right, left ^ ((mixed >> np.uint64(32)) & half)
        return (left << self._bits) | right


BLOCK = 256  # batches whose order is computed at a time
# maximum number of stretches of a split; a stretch is some consecutive contexts, whose scores are
# summed, and it is a part of a block of text (ablate.evidence.folder)
STRETCHES = 256

# Build a batch from contexts, each preceded by one more token, and their stretch numbers.
Pack = Callable[[Ids, Rows], Batch]


class Contexts:
    """The contexts of a split; a context is indexed by the position of its first token.

    Args:
        ids: the stream of tokens.
        context: tokens per context.
        ring: whether the stream continues with its first token after the last; otherwise with PAD.
        pack: function that builds a batch for the task.
    """

    def __init__(self, ids: TokenIds, context: int, *, ring: bool, pack: Pack) -> None:
        self._ids, self._context, self._ring, self._pack = ids, context, ring, pack
        self.tokens = ids.tokens
        self._stretch = -(-self.tokens // (STRETCHES * context)) * context
        self.epoch = 0  # set by `TrainingLoader`; unused, because contexts draw no random numbers

    def __getitem__(self, starts: Rows) -> Batch:
        # The stream is circular: the token before the first token is the EOS of the last document.
        ids = self._ids.stream(starts - 1, self._context + 1).astype(np.int64)
        if not self._ring:
            places = starts[:, None] + np.arange(-1, self._context)
            ids[places >= self.tokens] = PAD
        return self._pack(ids, starts // self._stretch)


def training_contexts(tokens: int, context: int, size: int, seed: int, epoch: int) -> Epoch:
    """Return batches of contexts in a random order that depends only on seed and epoch.

    Args:
        tokens: length of the stream, at least `context`.
        context: tokens per context.
        size: contexts per batch.
        seed: seed of the order.
        epoch: number of the epoch.
    """
    contexts = tokens // context
    size = min(size, contexts)
    random = np.random.default_rng([seed, epoch])
    start = random.integers(tokens)
    order, total = Permutation(contexts, random), contexts // size

    @lru_cache(1)
    def block(first: int) -> Rows:
        return order(np.arange(first * size, min(first + BLOCK, total) * size)).reshape(-1, size)

    def batch(number: int) -> Rows:
        place = number % BLOCK
        return (start + block(number - place)[place] * context) % tokens

    return Epoch(total, batch)


def evaluation_contexts(tokens: int, context: int, size: int, epoch: int) -> Epoch:
    """Return batches of `size` contexts, which have every context once and in order; they are the
    same in every epoch.
    """
    stride = context * size

    def batch(number: int) -> Rows:
        return np.arange(number * stride, min((number + 1) * stride, tokens), context)

    return Epoch(-(-tokens // stride), batch)


class PackedData(TextData):
    """A Lightning data module that provides a corpus as contexts of `batch.context` tokens.

    Args:
        pack: function that builds a batch for the task.
        **arguments: all other arguments of `TextData`.

    Raises:
        UserError: `batch` has an invalid value, such as `tokens` that are not whole contexts.
    """

    def __init__(self, *, pack: Pack, batch: Batching, **arguments: Any) -> None:
        super().__init__(batch=batch, **arguments)
        assert batch.context is not None
        self._context = batch.context
        self._pack = pack
        if batch.tokens % self._context:
            raise UserError(
                f"batch.tokens is {batch.tokens}, but it must be a multiple of batch.context "
                f"({self._context}); a batch is whole contexts. Try "
                f"{max(1, batch.tokens // self._context) * self._context}."
            )

    def _check_train(self) -> None:
        """Raise UserError if the training text is shorter than a context."""
        tokens = self._ids("train")[1].tokens
        if tokens < self._context:
            raise UserError(
                f"batch.context is {self._context}, but the training text has only {tokens} "
                f"tokens (an end token for each document included); set it to at most {tokens}, "
                "or give more text."
            )

    def _check_longest(self, split: str, key: str, *, tested: bool = False) -> None:
        """Accept text of any length."""

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """Number of texts of each split; none is skipped or truncated."""
        lengths = {split: self._cache.length(split) for split in self._splits}
        return {split: Counts(length.texts, 0, 0) for split, length in lengths.items()}

    def describe(self, split: str) -> str:
        """Return a phrase with the size of the text of a split in bytes, documents and tokens."""
        length = self._cache.length(split)
        size = f"{length.bytes:,} bytes, {length.texts:,} documents, {length.tokens:,} tokens"
        return f"{size}, {length.unknown:,} bytes unknown" if length.unknown else size

    def check_test(self, split: str) -> None:
        """Accept every split: contexts have no reference texts to check, and every split has
        tokens.
        """

    def references(self, split: str) -> Sequence[str]:
        """Return an empty list: contexts have no reference texts."""
        return []

    def sources(self, split: str) -> Sequence[str]:
        """Return an empty list: contexts have no sources."""
        return []

    def longest(self, split: str, *, tested: bool = False) -> tuple[int, int]:
        """Return 0 for the source, which contexts do not have, and the length of a context in
        tokens.
        """
        return 0, self._context

    def scored_lines(self, split: str) -> None:
        """Return None: contexts have no lines."""

    def first_lines(self, split: str, count: int) -> Batch:
        """Return the first contexts of a split, at most `count`, as a batch."""
        contexts = self._contexts(split)
        return contexts[np.arange(0, contexts.tokens, self._context)[:count]]

    def _training(self) -> tuple[Any, Epochs]:
        """Return the training contexts, and a function that forms the batches of an epoch."""
        contexts, size = self._contexts("train", ring=True), self._batch.tokens // self._context
        form = partial(training_contexts, contexts.tokens, self._context, size, self._seed)
        return contexts, form

    def _loader(self, split: str, rank: Rank, bucket: bool, padding: int) -> EvaluationLoader:
        contexts, size = self._contexts(split), max(1, self._batch.eval_tokens // self._context)
        tokens = min(contexts.tokens, self._batch.scored_tokens or contexts.tokens)
        form = partial(evaluation_contexts, tokens, self._context, size)
        return EvaluationLoader(contexts, Batches(form, rank, evaluates=True))

    def _contexts(self, split: str, *, ring: bool = False) -> Contexts:
        return Contexts(self._ids(split)[1], self._context, ring=ring, pack=self._pack)

    def _train_counts(self) -> npt.NDArray[np.int64]:
        return self._ids("train")[1].counts()
