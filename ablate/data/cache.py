"""Token ids on disk, under a key that is a hash of everything they depend on.

A cache is a folder: the vocabularies, for each split and side a flat file of ids and one of
offsets, and a sealed manifest with the size and the SHA-256 of every file. It is built in a private
folder and then renamed, so several processes may build at once: the first wins, the others use its
folder. A folder that does not agree with its manifest is built anew; a process reads all bytes of
it for that once. Text is encoded by as many threads as
this process may use cores, which is what they do, since the library lets go of Python's lock.
"""

import errno
import functools
import hashlib
import json
import os
import shutil
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tokenizers

from ablate.data.on_disk import Integers, OnDisk
from ablate.data.pairs import Corpus, Pairs
from ablate.data.progress import progress
from ablate.data.scheme.base import Scheme
from ablate.data.tokenizer import SIDES, Tokenizer, Tokenizers
from ablate.errors import UserError
from ablate.record.files import clear_unfinished, digest_of, seal, unfinished
from ablate.record.sealed import read_sealed

FORMAT = 2
CHUNK = 2_000  # lines encoded at a time, so that memory does not grow with the corpus
PART = 1 << 17  # lengths counted at a time
OFFSET = np.dtype(np.int64)
NARROW = 1 << 16  # vocabularies up to this size fit 16 bits
MANIFEST = "manifest.json"

Encoded = tuple[npt.NDArray[Any], npt.NDArray[np.int64]]  # ids one after the other, and lengths


class TokenIds:
    """The ids of all sentences of one side of a split, without BOS and EOS."""

    def __init__(self, path: Path, dtype: str):
        self._offsets = OnDisk(_offsets(path), OFFSET)
        self._flat = OnDisk(_flat(path), dtype)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def read(self, rows: Integers, at_most: int) -> tuple[Integers, Integers]:
        """Return the ids of some sentences, one after the other, and how many each has.

        Of a sentence of more than `at_most` ids these are the first ones.
        """
        spans = self._offsets.take(rows, np.full(len(rows), 2)).reshape(-1, 2)
        lengths = np.minimum(spans[:, 1] - spans[:, 0], at_most)
        return self._flat.take(spans[:, 0], lengths), lengths

    def lengths(self, at_most: int) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the tokens of each sentence, EOS counted, but never more than `at_most`."""
        total = len(self)
        lengths = np.empty(total, np.min_scalar_type(at_most))
        for start in range(0, total, PART):
            count = min(PART, total - start)
            bounds = self._offsets.take(np.array([start]), np.array([count + 1]))
            lengths[start : start + count] = np.minimum(np.diff(bounds) + 1, at_most)
        return lengths


class TokenCache:
    """The vocabularies and token ids of a corpus."""

    def __init__(self, folder: Path):
        self._folder = folder
        self.tokenizers = Tokenizers.load(folder)

    def split(self, name: str) -> tuple[TokenIds, TokenIds]:
        """Return the ids of the source and the target side of a split."""
        vocabularies = (self.tokenizers.src, self.tokenizers.tgt)
        src, tgt = (
            TokenIds(self._folder / f"{name}.{side}", _dtype(vocabulary))
            for side, vocabulary in zip(SIDES, vocabularies, strict=True)
        )
        return src, tgt


def open_cache(root: Path, corpus: Corpus, scheme: Scheme) -> TokenCache:
    """Return the token ids of a corpus, built first where there are none.

    Raises:
        UserError: the corpus or the vocabulary size is not usable, or `root` is not writable.
    """
    folder = root / "tokens" / key(corpus, scheme)
    if problem := damage(folder):
        if folder.exists():
            print(f"{problem}: the token cache is built anew", flush=True)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"paths.cache={root} cannot be written: {error.strerror}.") from error
        _build(folder, corpus, scheme)
    return TokenCache(folder)


def key(corpus: Corpus, scheme: Scheme) -> str:
    """Return a hash of everything that can change a token id."""
    parts = [str(FORMAT), tokenizers.__version__, corpus.fingerprint(), scheme.signature()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def damage(folder: Path) -> str:
    """Say what is wrong with a cache; nothing if every file is as it was written."""
    try:
        for name, about in read_sealed(folder / MANIFEST)["files"].items():
            path = folder / name
            now = path.stat()
            if now.st_size != about["size"]:
                return f"{path} is damaged (it has another size)"
            if _digest(path, now.st_ino, now.st_mtime_ns) != about["sha256"]:
                return f"{path} is damaged (it has another SHA-256)"
    except UserError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename} cannot be read ({error.strerror})"
    return ""


@functools.cache
def _digest(path: Path, file: int, modified: int) -> str:
    """Read a file once per process; `file` and `modified` tell it from one that took its place."""
    return digest_of(path)


def _build(folder: Path, corpus: Corpus, scheme: Scheme) -> None:
    clear_unfinished(folder.parent)
    private = _private(folder)
    private.mkdir()
    try:
        _write(private, corpus, scheme)
        _publish(private, folder)
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _write(folder: Path, corpus: Corpus, scheme: Scheme) -> None:
    vocabularies = _write_train(folder, corpus.read("train"), scheme)
    for split in corpus.splits:
        if split != "train":
            _write_split(folder / split, vocabularies, corpus.read(split))
    files = {
        path.name: {"size": path.stat().st_size, "sha256": digest_of(path)}
        for path in sorted(folder.iterdir())
    }
    (folder / MANIFEST).write_text(json.dumps(seal({"files": files}), indent=1), encoding="utf-8")


def _write_train(folder: Path, train: Pairs, scheme: Scheme) -> Tokenizers:
    """Write the vocabularies and train, which is out of memory before other splits are read."""
    vocabularies = Tokenizers.train(scheme, train)
    vocabularies.save(folder)
    _write_split(folder / "train", vocabularies, train)
    return vocabularies


def _write_split(prefix: Path, vocabularies: Tokenizers, pairs: Pairs) -> None:
    _encode(prefix.with_name(f"{prefix.name}.src"), vocabularies.src, pairs.src)
    _encode(prefix.with_name(f"{prefix.name}.tgt"), vocabularies.tgt, pairs.tgt)


def _encode(path: Path, tokenizer: Tokenizer, lines: Sequence[str]) -> None:
    end = np.zeros(1, OFFSET)
    with (
        _flat(path).open("wb") as flat,
        _offsets(path).open("wb") as offsets,
        progress(f"encoding {path.name}", len(lines), " lines") as bar,
    ):
        end.tofile(offsets)
        for ids, lengths in _encoded(tokenizer, lines):
            ids.tofile(flat)
            end = end[-1] + lengths.cumsum()
            end.tofile(offsets)
            bar.update(len(lengths))


def _encoded(tokenizer: Tokenizer, lines: Sequence[str]) -> Iterator[Encoded]:
    """Yield the ids of chunks of lines in order, with only a few chunks in memory."""
    cores = _cores()
    waiting: deque[Future[Encoded]] = deque()
    with ThreadPoolExecutor(cores) as threads:
        for start in range(0, len(lines), CHUNK):
            chunk = lines[start : start + CHUNK]
            waiting.append(threads.submit(_encode_chunk, tokenizer, chunk))
            if len(waiting) > cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _cores() -> int:
    """Return how many cores this process may use; only Linux tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _encode_chunk(tokenizer: Tokenizer, lines: Sequence[str]) -> Encoded:
    encoded = tokenizer.encode_batch(lines)
    lengths = np.array([len(ids) for ids in encoded], OFFSET)
    return np.fromiter(chain.from_iterable(encoded), _dtype(tokenizer), lengths.sum()), lengths


def _publish(private: Path, folder: Path) -> None:
    """Put a finished folder in place, unless another process has done so."""
    while damage(folder):
        try:
            os.rename(private, folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            _set_aside(folder)


def _set_aside(folder: Path) -> None:
    """Take away a folder that may be damaged."""
    if not damage(folder):
        return
    damaged = _private(folder)
    with suppress(FileNotFoundError):  # another process was faster
        os.rename(folder, damaged)
    shutil.rmtree(damaged, ignore_errors=True)


def _private(folder: Path) -> Path:
    return unfinished(folder.with_name(f"{folder.name}.{uuid.uuid4().hex}"))


def _dtype(tokenizer: Tokenizer) -> str:
    return "uint16" if tokenizer.size <= NARROW else "uint32"


def _flat(path: Path) -> Path:
    return path.with_name(f"{path.name}.ids")


def _offsets(path: Path) -> Path:
    return path.with_name(f"{path.name}.offsets")
