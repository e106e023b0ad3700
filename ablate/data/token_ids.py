"""Encode the texts of one side (source or target) of a split, and read their token ids from disk.

A side has three flat files: the ids, the position where each text ends, and the number of
occurrences of each id. Every text ends with EOS, so that the ids also form one stream of all texts.
Text is encoded by one thread per available core; the tokenizer library releases Python's global
lock.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ablate.data import EOS, UNK
from ablate.data.corpus import Segment, TextLength
from ablate.data.tokenizer import Tokenizer
from ablate.progress import Work

CHUNK = 2_000  # segments encoded at a time, so that memory does not grow with the corpus
CHARACTERS = 1 << 15  # a chunk ends after the segment that reaches this number of characters
OFFSET = np.dtype(np.int64)
NARROW = 1 << 16  # vocabularies up to this size fit 16 bits

Integers = npt.NDArray[np.integer[Any]]


def mapped(path: Path, dtype: npt.DTypeLike) -> Integers:
    """Return the numbers in a memory-mapped file, of which only the needed parts are read.

    Mapped pages count as resident memory while the kernel has room for them, but the pages are not
    private: processes share them, and the kernel drops them when memory is needed.
    """
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, "r"))


class TokenIds:
    """Token ids, on disk, of all texts of one side (source or target) of a split. Every text ends
    with EOS; there is no BOS.
    """

    def __init__(self, path: Path, dtype: str):
        self._offsets = mapped(Path(f"{path}.offsets"), OFFSET)
        self._flat = mapped(Path(f"{path}.ids"), dtype)
        self._counts = mapped(Path(f"{path}.counts"), OFFSET)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def tokens(self) -> int:
        """Number of tokens of all texts, including EOS."""
        return len(self._flat)

    def counts(self) -> npt.NDArray[np.int64]:
        """Return the number of occurrences of each id, including EOS."""
        return self._counts.astype(np.int64)

    def stream(self, starts: Integers, length: int) -> Integers:
        """Return an array with a row of `length` consecutive ids for each position in `starts`.

        The stream is circular: the last text is followed by the first.
        """
        return self._flat[(starts[:, None] + np.arange(length)) % len(self._flat)]

    def read(self, rows: Integers, at_most: int) -> tuple[Integers, Integers]:
        """Return the ids of the sentences with line numbers `rows`, concatenated without EOS, and
        the length of each sentence.

        Sentences are truncated to `at_most` ids.
        """
        starts, ends = self._offsets[rows], self._offsets[rows.astype(np.int64) + 1]
        lengths = np.minimum(ends - starts - 1, at_most)
        before = lengths.cumsum() - lengths
        return self._flat[np.arange(lengths.sum()) + np.repeat(starts - before, lengths)], lengths

    def lengths(self, at_most: int) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the number of tokens of each sentence, including EOS; larger numbers are replaced
        by `at_most`.
        """
        lengths = np.minimum(np.diff(self._offsets), at_most)
        return lengths.astype(np.min_scalar_type(at_most))


class Encoded(NamedTuple):
    """Token ids of some consecutive segments (parts of documents, or lines), concatenated, and the
    size of their text.
    """

    ids: npt.NDArray[Any]
    ends: npt.NDArray[np.int64]  # positions where texts end, including EOS
    segments: int
    characters: int  # of the texts and of the separators between them
    n_bytes: int  # bytes of the texts alone
    n_ends: int  # bytes of the separators between texts
    spaces: int  # texts whose first subword spells the space that the vocabulary adds to a line


def write_ids(
    path: Path, tokenizer: Tokenizer, segments: Iterable[Segment], total: int | None = None
) -> TextLength:
    """Write the token ids of texts to files, and return the size of the text.

    Args:
        path: path of the files, without their extensions.
        tokenizer: vocabulary.
        segments: parts of the texts, in order.
        total: number of segments for the progress bar; None if unknown.
    """
    counts = np.zeros(tokenizer.size, OFFSET)
    offset = texts = characters = n_bytes = n_ends = spaces = 0
    with (
        Path(f"{path}.ids").open("wb") as flat,
        Path(f"{path}.offsets").open("wb") as offsets,
        Work(f"encoding {path.name}", total) as work,
    ):
        np.zeros(1, OFFSET).tofile(offsets)
        for chunk in _encoded(tokenizer, segments):
            chunk.ids.tofile(flat)
            (offset + chunk.ends).tofile(offsets)
            counts += np.bincount(chunk.ids, minlength=tokenizer.size)
            offset += len(chunk.ids)
            texts += len(chunk.ends)
            characters += chunk.characters
            n_bytes += chunk.n_bytes
            n_ends += chunk.n_ends
            spaces += chunk.spaces
            work.advance(chunk.segments)
    counts.tofile(f"{path}.counts")
    # The vocabulary adds a space in front of every line, which the text does not contain.
    spelled = int(counts @ tokenizer.widths) - (0 if tokenizer.verbatim else spaces)
    unknown = max(0, n_bytes - spelled) if counts[UNK] else 0
    return TextLength(texts, offset, characters, n_bytes + n_ends, unknown)


def _encoded(tokenizer: Tokenizer, segments: Iterable[Segment]) -> Iterator[Encoded]:
    """Encode the segments in parallel threads, and yield their token ids in the same order.

    A segment is a part of a document, or a line. Each item has the ids of some consecutive
    segments. Only a few items are in memory at once.
    """
    cores = _cores()
    waiting: deque[Future[Encoded]] = deque()
    with ThreadPoolExecutor(cores) as threads:
        for chunk in _chunks(segments):
            waiting.append(threads.submit(_encode_chunk, tokenizer, chunk))
            if len(waiting) > cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _chunks(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Yield lists of consecutive segments that are encoded together."""
    chunk: list[Segment] = []
    characters = 0
    for segment in segments:
        chunk.append(segment)
        characters += len(segment.text)
        if len(chunk) == CHUNK or characters >= CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _encode_chunk(tokenizer: Tokenizer, chunk: list[Segment]) -> Encoded:
    rows = tokenizer.encode_batch([text for text, _ in chunk])
    ended = np.array([end is not None for _, end in chunk])
    for row, end in zip(rows, ended, strict=True):
        if end:
            row.append(EOS)
    positions = np.cumsum([len(row) for row in rows], dtype=OFFSET)
    ids = np.fromiter(chain.from_iterable(rows), type_of_ids(tokenizer), positions[-1])
    ends = [end or "" for _, end in chunk]
    return Encoded(
        ids,
        positions[ended],
        segments=len(chunk),
        characters=sum(len(text) for text, _ in chunk) + sum(map(len, ends)),
        n_bytes=sum(len(text.encode()) for text, _ in chunk),
        n_ends=sum(len(end.encode()) for end in ends),
        spaces=sum(row[0] not in (EOS, UNK) for row in rows if row),
    )


def _cores() -> int:
    """Return the number of cores that this process may use.

    If the operating system does not report this number, return the number of all cores.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def type_of_ids(tokenizer: Tokenizer) -> str:
    """Return the smallest integer type for all ids of a vocabulary."""
    return "uint16" if tokenizer.size <= NARROW else "uint32"
