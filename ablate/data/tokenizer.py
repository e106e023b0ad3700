"""Convert text to token ids and back, and keep the ids of a split in files.

A side (source or target) of a split has three flat files: the ids, the position where each text
ends, and the number of occurrences of each id. Every text ends with EOS, so that the ids also form
one stream of all texts. Text is encoded by one thread per available core; the tokenizer library
releases Python's global lock.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tokenizers
from tokenizers import decoders

from ablate.data import EOS, SPECIALS, UNK, Segment, TextLength
from ablate.data.scheme import LINE_FEED, MARK, RESERVED, Scheme
from ablate.errors import progress

# The library's threads hang in forked children, and the number of threads of a run is fixed.
os.environ["TOKENIZERS_PARALLELISM"] = "0"

UNKNOWN = "\u2047"  # shown for UNK in translations: one character, so BLEU counts one error
SIDES = ("src", "tgt")
JOINT = "joint"
CHUNK = 2_000  # segments encoded at a time, so that memory does not grow with the corpus
CHARACTERS = 1 << 15  # a chunk ends after the segment that reaches this number of characters
OFFSET = np.dtype(np.int64)
NARROW = 1 << 16  # vocabularies up to this size fit 16 bits

Integers = npt.NDArray[np.integer[Any]]
Sides = tuple[Iterable[str], Iterable[str]]  # each side can be read more than once


class Tokenizer:
    """The vocabulary of one language, or of both languages together.

    Ids 0 to 3 are PAD, BOS, EOS and UNK; text is never encoded as PAD, BOS or EOS. Decoding the ids
    of a line or a document restores the text, except for unknown subwords, which become UNKNOWN.
    """

    def __init__(self, library: tokenizers.Tokenizer):
        library.encode_special_tokens = True  # a document may contain the name of a special token
        self._library = library
        self.size: int = library.get_vocab_size()
        of_bytes = isinstance(library.decoder, decoders.ByteLevel)
        self._is_byte = of_bytes and self.size == len(SPECIALS) + 256
        self._pieces = [library.id_to_token(token) or "" for token in range(self.size)]
        self._text = [
            "" if token < len(SPECIALS) else piece for token, piece in enumerate(self._pieces)
        ]
        self._text[UNK] = self._pieces[UNK].replace(RESERVED[UNK], UNKNOWN)

    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each line, without BOS and EOS."""
        if self._is_byte:  # the library is fifty times slower for bytes
            return [[byte + len(SPECIALS) for byte in line.encode()] for line in lines]
        encoded = self._library.encode_batch_fast(lines, add_special_tokens=False)
        return [line.ids for line in encoded]

    def decode_batch(self, lines: list[list[int]]) -> list[str]:
        """Return the text of each list of ids; PAD, BOS and EOS are left out."""
        texts = map(self._unmarked, lines)
        return [text if self.verbatim else text.removeprefix(" ") for text in texts]

    def decode_lines(self, lines: list[list[int]]) -> list[str]:
        """Return the text of each list of ids as a single line.

        A model of bytes may generate line feeds; they become spaces.
        """
        return [text.replace("\n", " ") for text in self.decode_batch(lines)]

    def token_labels(self, ids: list[int]) -> list[str]:
        """Return a printable label for each token id, for tables and axes.

        A space is shown as a low bar, a line feed as a bent arrow.
        """
        labels = [SPECIALS[i] if i < len(SPECIALS) else self._pieces[i] for i in ids]
        return [text.replace(MARK, "\u2581").replace(LINE_FEED, "\u23ce") for text in labels]

    def save(self, path: Path) -> None:
        """Write the vocabulary to a file."""
        path.write_text(self._library.to_str(pretty=True), encoding="utf-8", newline="\n")

    def to_str(self) -> str:
        """Return the vocabulary as text, in the format of the file that `save` writes."""
        return self._library.to_str()

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Return the vocabulary that `save` wrote."""
        return cls(tokenizers.Tokenizer.from_file(str(path)))

    @property
    def verbatim(self) -> bool:
        """Whether the subwords of a text spell exactly this text; otherwise they spell a line with
        an extra space in front, which `decode_batch` removes.
        """
        return self._library.decoder is not None

    @cached_property
    def widths(self) -> npt.NDArray[np.int64]:
        """Number of UTF-8 bytes of the text of each id; 0 for special ids."""
        if isinstance(self._library.decoder, decoders.ByteLevel):
            return (np.arange(self.size) >= len(SPECIALS)).astype(np.int64)
        text = [self._unmarked([token]) for token in range(self.size)]
        text[: len(SPECIALS)] = [""] * len(SPECIALS)
        return np.array([len(piece.encode()) for piece in text], np.int64)

    def _unmarked(self, ids: list[int]) -> str:
        """Return the text of token ids, in which MARK is replaced by a space.

        Unless the tokenizer is `verbatim`, the text of a line therefore starts with a space that
        the line does not have.
        """
        pieces = [self._text[token] for token in ids]
        if self._library.decoder:  # vocabularies of documents and of bytes
            return self._library.decoder.decode(pieces)
        return "".join(pieces).replace(MARK, " ")


@dataclass(frozen=True)
class Tokenizers:
    """The vocabularies of source and target language; if they share one vocabulary, the same object
    twice.
    """

    src: Tokenizer
    tgt: Tokenizer

    @property
    def joint(self) -> bool:
        """Whether both languages share one vocabulary."""
        return self.src is self.tgt

    @classmethod
    def train(cls, scheme: Scheme, pairs: Sides, *, documents: bool = False) -> "Tokenizers":
        """Train vocabularies on the sources and targets of the training text.

        With `documents`, the text may contain line feeds.

        Raises:
            UserError: the text does not support a vocabulary of the requested size.
        """
        src, tgt = pairs
        if scheme.joint:
            both = Tokenizer(scheme.train([src, tgt], documents=documents))
            return cls(both, both)
        sides = (scheme.train([side], documents=documents) for side in (src, tgt))
        return cls(*(Tokenizer(side) for side in sides))

    def save(self, folder: Path) -> None:
        """Write the vocabularies into a folder."""
        if self.joint:
            self.src.save(folder / f"{JOINT}.json")
            return
        for side, tokenizer in zip(SIDES, (self.src, self.tgt), strict=True):
            tokenizer.save(folder / f"{side}.json")

    @classmethod
    def load(cls, folder: Path) -> "Tokenizers":
        """Return the vocabularies that `save` wrote."""
        shared = folder / f"{JOINT}.json"
        if shared.is_file():
            both = Tokenizer.load(shared)
            return cls(both, both)
        return cls(*(Tokenizer.load(folder / f"{side}.json") for side in SIDES))


class ExistingVocabularies:
    """Existing vocabularies, used in place of a scheme that learns vocabularies.

    Args:
        tokenizers: the vocabularies.
        splits: names of the splits that must be encoded.
    """

    def __init__(self, tokenizers: Tokenizers, splits: tuple[str, ...]) -> None:
        self.tokenizers = tokenizers
        self.splits = splits

    def signature(self, *, documents: bool) -> str:
        """Return the vocabularies and the split names as text, from which the key of the token
        cache is computed.
        """
        sides = (self.tokenizers.src, self.tokenizers.tgt)
        return "\n".join([*self.splits, *(side.to_str() for side in sides)])


AnyScheme = Scheme | ExistingVocabularies


def open_memory_mapped(path: Path, dtype: npt.DTypeLike) -> Integers:
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
        self._offsets = open_memory_mapped(Path(f"{path}.offsets"), OFFSET)
        self._flat = open_memory_mapped(Path(f"{path}.ids"), dtype)
        self._counts = open_memory_mapped(Path(f"{path}.counts"), OFFSET)

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


class EncodedSegments(NamedTuple):
    """Token ids of some consecutive segments (parts of documents, or lines), concatenated, and the
    size of their text.
    """

    ids: npt.NDArray[Any]
    text_ends: npt.NDArray[np.int64]  # positions where texts end, including EOS
    segments: int
    decoded_bytes: int  # UTF-8 bytes that the ids spell if all characters are in the vocabulary
    length: TextLength  # without the number of unknown bytes


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
    length, decoded_bytes = TextLength(0, 0, 0, 0, 0), 0
    with (
        Path(f"{path}.ids").open("wb") as flat,
        Path(f"{path}.offsets").open("wb") as offsets,
        progress(f"encoding {path.name}", total) as work,
    ):
        np.zeros(1, OFFSET).tofile(offsets)
        for chunk in _encoded(tokenizer, segments):
            chunk.ids.tofile(flat)
            (length.tokens + chunk.text_ends).tofile(offsets)
            counts += np.bincount(chunk.ids, minlength=tokenizer.size)
            length = TextLength(*map(sum, zip(length, chunk.length, strict=True)))
            decoded_bytes += chunk.decoded_bytes
            work.update(chunk.segments)
    counts.tofile(f"{path}.counts")
    unknown = max(0, decoded_bytes - int(counts @ tokenizer.widths)) if counts[UNK] else 0
    return length._replace(unknown=unknown)


def _encoded(tokenizer: Tokenizer, segments: Iterable[Segment]) -> Iterator[EncodedSegments]:
    """Encode the segments in parallel threads, and yield their token ids in the same order.

    A segment is a part of a document, or a line. Each item has the ids of some consecutive
    segments. Only a few items are in memory at once.
    """
    cores = _cores()
    waiting: deque[Future[EncodedSegments]] = deque()
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


def _encode_chunk(tokenizer: Tokenizer, chunk: list[Segment]) -> EncodedSegments:
    texts, ends = [text for text, _ in chunk], [end or "" for _, end in chunk]
    rows, ended = tokenizer.encode_batch(texts), np.array([end is not None for _, end in chunk])
    for row, end in zip(rows, ended, strict=True):
        if end:
            row.append(EOS)
    positions = np.cumsum([len(row) for row in rows], dtype=OFFSET)
    ids = np.fromiter(chain.from_iterable(rows), type_of_ids(tokenizer), positions[-1])
    # the vocabulary of lines adds a space in front of every line, which the text does not contain
    firsts = () if tokenizer.verbatim else (row[0] for row in rows if row)
    decoded_bytes = sum(len(text.encode()) for text in texts)
    size = decoded_bytes + sum(len(end.encode()) for end in ends)
    characters = sum(map(len, (*texts, *ends)))
    decoded_bytes += sum(first not in (EOS, UNK) for first in firsts)
    length = TextLength(int(ended.sum()), len(ids), characters, size, unknown=0)
    return EncodedSegments(ids, positions[ended], len(chunk), decoded_bytes, length)


def _cores() -> int:
    """Return the number of cores that this process may use.

    If the operating system does not report this number, return the number of all cores.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def type_of_ids(tokenizer: Tokenizer) -> str:
    """Return the smallest integer type for all ids of a vocabulary."""
    return "uint16" if tokenizer.size <= NARROW else "uint32"
