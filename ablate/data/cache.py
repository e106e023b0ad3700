"""Cache the token ids of a corpus on disk, under a hash of everything that they depend on.

A cache is a folder with the vocabularies. For each split and each side (source or target), the
folder has three flat files: the ids, the position where each text ends, and the number of
occurrences of each id. Every text ends with EOS, so that the ids also form one stream of all texts.
A sealed manifest holds the size and the SHA-256 of every file, and the length of every split.

The folder is built under a temporary name and then renamed, so several processes may build it at
once: the first to finish wins, and the others use its folder. Each process verifies all files
against the manifest once, and rebuilds the folder if they do not match. Text is encoded by one
thread per available core; the tokenizer library releases Python's global lock.
"""

import errno
import functools
import hashlib
import json
import os
import shutil
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tokenizers

from ablate.data.documents import Documents, Segment, SegmentTexts, TextLength
from ablate.data.doubts import doubts, long_words
from ablate.data.on_disk import Integers, OnDisk
from ablate.data.pairs import TRAINED, Corpus, Pairs
from ablate.data.scheme.base import Scheme
from ablate.data.tokenizer import SIDES, Given, Tokenizer, Tokenizers
from ablate.data.vocabulary import EOS, UNK
from ablate.errors import UserError
from ablate.progress import Work
from ablate.record.files import clear_unfinished, digest_of, seal, unfinished
from ablate.record.sealed import read_sealed

FORMAT = 3
CHUNK = 2_000  # segments encoded at a time, so that memory does not grow with the corpus
CHARACTERS = 1 << 15  # a chunk ends after the segment that reaches this number of characters
PART = 1 << 17  # lengths computed at a time
OFFSET = np.dtype(np.int64)
NARROW = 1 << 16  # vocabularies up to this size fit 16 bits
MANIFEST = "manifest.json"


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


class TokenIds:
    """Token ids, on disk, of all texts of one side (source or target) of a split. Every text ends
    with EOS; there is no BOS.
    """

    def __init__(self, path: Path, dtype: str):
        self._offsets = OnDisk(_offsets(path), OFFSET)
        self._flat = OnDisk(_flat(path), dtype)
        self._counts = OnDisk(_counts(path), OFFSET)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def tokens(self) -> int:
        """Number of tokens of all texts, including EOS."""
        return len(self._flat)

    def counts(self) -> npt.NDArray[np.int64]:
        """Return the number of occurrences of each id, including EOS."""
        return np.asarray(self._counts.take(np.zeros(1, int), np.array([len(self._counts)])))

    def stream(self, starts: Integers, length: int) -> Integers:
        """Return an array with a row of `length` consecutive ids for each position in `starts`.

        The stream is circular: the last text is followed by the first.
        """
        return self._flat.at((starts[:, None] + np.arange(length)) % len(self._flat))

    def read(self, rows: Integers, at_most: int) -> tuple[Integers, Integers]:
        """Return the ids of the sentences with line numbers `rows`, concatenated without EOS, and
        the length of each sentence.

        Sentences are truncated to `at_most` ids.
        """
        spans = self._offsets.take(rows, np.full(len(rows), 2)).reshape(-1, 2)
        lengths = np.minimum(spans[:, 1] - spans[:, 0] - 1, at_most)
        return self._flat.take(spans[:, 0], lengths), lengths

    def lengths(self, at_most: int) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the number of tokens of each sentence, including EOS; larger numbers are replaced
        by `at_most`.
        """
        total = len(self)
        lengths = np.empty(total, np.min_scalar_type(at_most))
        for start in range(0, total, PART):
            count = min(PART, total - start)
            bounds = self._offsets.take(np.array([start]), np.array([count + 1]))
            lengths[start : start + count] = np.minimum(np.diff(bounds), at_most)
        return lengths


class TokenCache:
    """The vocabularies and token ids of a corpus, in a folder on disk."""

    def __init__(self, folder: Path):
        self._folder = folder
        self.tokenizers = Tokenizers.load(folder)
        self._lengths = read_sealed(folder / MANIFEST)["lengths"]

    def length(self, split: str) -> TextLength:
        """Return the size of the target text of a split."""
        return TextLength(**self._lengths[split])

    def split(self, name: str) -> tuple[TokenIds, TokenIds]:
        """Return the ids of the source and the target side of a split."""
        vocabularies = (self.tokenizers.src, self.tokenizers.tgt)
        src, tgt = (
            TokenIds(self._folder / f"{name}.{side}", _dtype(vocabulary))
            for side, vocabulary in zip(SIDES, vocabularies, strict=True)
        )
        return src, tgt


def open_cache(root: Path, corpus: Corpus, scheme: Scheme | Given) -> TokenCache:
    """Return the vocabularies and token ids of a corpus; build the cache first if it is missing or
    damaged.

    Raises:
        UserError: the corpus or the vocabulary size is not usable, or `root` is not writable.
    """
    folder = root / "tokens" / key(corpus, scheme)
    if problem := damage(folder):
        if folder.exists():
            print(f"{problem}: the token cache will be rebuilt", flush=True)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            _build(folder, corpus, scheme)
        except OSError as error:  # NumPy's OSError has no errno for a full disk
            reason = error.strerror or f"{error}; the disk may be full"
            raise UserError(f"paths.cache={root} cannot be written: {reason}.") from error
    return TokenCache(folder)


def splits_of(corpus: Corpus, scheme: Scheme | Given) -> tuple[str, ...]:
    """Return the names of the splits of a corpus that have to be encoded."""
    return scheme.splits if isinstance(scheme, Given) else corpus.splits


def key(corpus: Corpus, scheme: Scheme | Given) -> str:
    """Return a hash of everything that can change a token id; the hash names the folder of the
    cache.
    """
    tests = filter(None, (corpus.test_fingerprint(s) for s in corpus.splits if s not in TRAINED))
    text = [corpus.fingerprint(), *tests]
    parts = [str(FORMAT), tokenizers.__version__, *text]
    parts.append(scheme.signature(documents=corpus.documents))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def damage(folder: Path) -> str:
    """Return a description of the first missing or damaged file in the folder of a cache; "" if all
    files match the manifest.
    """
    try:
        for name, about in read_sealed(folder / MANIFEST)["files"].items():
            path = folder / name
            now = path.stat()
            if now.st_size != about["size"]:
                return f"{path} is damaged (its size does not match the manifest)"
            if _digest(path, now.st_ino, now.st_mtime_ns) != about["sha256"]:
                return f"{path} is damaged (its SHA-256 does not match the manifest)"
    except UserError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename} cannot be read ({error.strerror})"
    return ""


@functools.cache
def _digest(path: Path, file: int, modified: int) -> str:
    """Return the SHA-256 of a file, read once per process.

    `file` (inode) and `modified` (time) are arguments only so that a file that was replaced is read
    again.
    """
    return digest_of(path)


def _build(folder: Path, corpus: Corpus, scheme: Scheme | Given) -> None:
    clear_unfinished(folder.parent)
    private = _private(folder)
    private.mkdir()
    try:
        _write(private, corpus, scheme)
        _publish(private, folder)
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _write(folder: Path, corpus: Corpus, scheme: Scheme | Given) -> None:
    if isinstance(scheme, Scheme):  # existing vocabularies need no training text
        words = long_words(corpus) if scheme.learns_words else ()
        for doubt in (*doubts(corpus), *words):
            print(f"warning, {doubt}", flush=True)
    lengths: dict[str, TextLength] = {}
    if isinstance(scheme, Given):
        vocabularies = scheme.tokenizers
        vocabularies.save(folder)
    else:
        vocabularies, lengths["train"] = _write_train(folder, corpus, scheme)
    for split in splits_of(corpus, scheme):
        if split not in lengths:
            lengths[split] = _write_split(folder, corpus, split, vocabularies)
    files = {
        path.name: {"size": path.stat().st_size, "sha256": digest_of(path)}
        for path in sorted(folder.iterdir())
    }
    numbers = {split: length._asdict() for split, length in lengths.items()}
    manifest = seal({"files": files, "lengths": numbers})
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _write_train(folder: Path, corpus: Corpus, scheme: Scheme) -> tuple[Tokenizers, TextLength]:
    """Write the vocabularies and the training split; return the vocabularies, and the size of the
    target text.
    """
    if isinstance(corpus, Documents):
        if not scheme.joint:
            raise UserError(
                "tokenizer.joint is false, but documents have no sources, so there is only one "
                "vocabulary; choose tokenizer.joint=true."
            )
        texts = SegmentTexts(corpus, "train")
        vocabularies = Tokenizers.train(scheme, ([], texts), documents=True)
        vocabularies.save(folder)
        return vocabularies, _write_split(folder, corpus, "train", vocabularies)
    train = corpus.read("train")
    vocabularies = Tokenizers.train(scheme, train)
    vocabularies.save(folder)
    return vocabularies, _write_pairs(folder / "train", vocabularies, train)


def _write_split(folder: Path, corpus: Corpus, split: str, vocabularies: Tokenizers) -> TextLength:
    prefix = folder / split
    if not isinstance(corpus, Documents):
        return _write_pairs(prefix, vocabularies, corpus.read(split))
    length = _encode(_side(prefix, "tgt"), vocabularies.tgt, corpus.segments(split))
    sources = repeat(Segment("", ""), length.texts)
    _encode(_side(prefix, "src"), vocabularies.src, sources, length.texts)
    return length


def _write_pairs(prefix: Path, vocabularies: Tokenizers, pairs: Pairs) -> TextLength:
    """Write both sides of a split, and return the size of the target text."""
    both = zip(SIDES, (vocabularies.src, vocabularies.tgt), pairs, strict=True)
    _, length = [
        _encode(
            _side(prefix, side), vocabulary, (Segment(line, "\n") for line in lines), len(lines)
        )
        for side, vocabulary, lines in both
    ]
    return length


def _side(prefix: Path, side: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{side}")


def _encode(
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
    offset = texts = characters = n_bytes = n_ends = 0
    with (
        _flat(path).open("wb") as flat,
        _offsets(path).open("wb") as offsets,
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
            work.advance(chunk.segments)
    counts.tofile(_counts(path))
    # The vocabulary adds a space in front of every line, which the text does not contain.
    spelled = int(counts @ tokenizer.widths) - (0 if tokenizer.verbatim else texts)
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
    ids = np.fromiter(chain.from_iterable(rows), _dtype(tokenizer), positions[-1])
    ends = [end or "" for _, end in chunk]
    return Encoded(
        ids,
        positions[ended],
        segments=len(chunk),
        characters=sum(len(text) for text, _ in chunk) + sum(map(len, ends)),
        n_bytes=sum(len(text.encode()) for text, _ in chunk),
        n_ends=sum(len(end.encode()) for end in ends),
    )


def _cores() -> int:
    """Return the number of cores that this process may use.

    If the operating system does not report this number, return the number of all cores.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _publish(private: Path, folder: Path) -> None:
    """Rename the finished folder `private` to `folder`, unless another process has already built
    `folder`.
    """
    while damage(folder):
        try:
            os.rename(private, folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            _set_aside(folder)


def _set_aside(folder: Path) -> None:
    """Remove the folder of a cache if the folder is damaged.

    The folder is renamed before its files are removed, so that no other process reads a part of it.
    """
    if not damage(folder):
        return
    damaged = _private(folder)
    with suppress(FileNotFoundError):  # another process has removed it
        os.rename(folder, damaged)
    shutil.rmtree(damaged, ignore_errors=True)


def _private(folder: Path) -> Path:
    return unfinished(folder.with_name(f"{folder.name}.{uuid.uuid4().hex}"))


def _dtype(tokenizer: Tokenizer) -> str:
    return "uint16" if tokenizer.size <= NARROW else "uint32"


def _flat(path: Path) -> Path:
    return path.with_name(f"{path.name}.ids")


def _counts(path: Path) -> Path:
    return path.with_name(f"{path.name}.counts")


def _offsets(path: Path) -> Path:
    return path.with_name(f"{path.name}.offsets")
