"""Read text files of a user, and report everything that makes them unusable.

Only a line feed ends a line; characters such as U+2028 and U+0085 are part of the text. A
byte-order mark and carriage returns at line ends are dropped. Only the position of each line is
kept in memory (4 bytes per line for files below 4 GiB); the text is read from disk on each access.
"""

import gzip
import hashlib
import os
import re
import tempfile
import weakref
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ablate.data.pairs import Pairs
from ablate.errors import UserError

BLOCK = 1 << 20  # bytes checked at a time
CHUNK = 10_000  # lines read at a time
PACKED = 1 << 16  # bytes of a gzip file unpacked at a time
RATIO = 100  # largest unpacked size over packed size; text has 3 to 10, and gzip can reach 1,000
ALWAYS = 1 << 24  # bytes; gzip files that unpack to less are always accepted
MARK = "\ufeff"  # U+FEFF, the byte-order mark
ATTRIBUTION = re.compile(r"CC[- ](BY|0)", re.IGNORECASE)


class LazyLines(Sequence[str]):
    """A sequence of lines that are read on access; a slice is a list of lines."""

    @abstractmethod
    def read(self, start: int, stop: int) -> list[str]:
        """Return the lines `start` to `stop - 1`; `stop` must be above `start`."""

    def __getitem__(self, at: Any) -> Any:
        rows = range(len(self))[at]
        if isinstance(rows, int):
            return self.read(rows, rows + 1)[0]
        if rows.step != 1:
            return [self[row] for row in rows]
        return list(self._stream(rows.start, rows.stop))

    def __iter__(self) -> Iterator[str]:
        return self._stream(0, len(self))

    def _stream(self, start: int, stop: int) -> Iterator[str]:
        for begin in range(start, stop, CHUNK):
            yield from self.read(begin, min(begin + CHUNK, stop))


class FileLines(LazyLines):
    """The lines of an open file, read on access; this object holds a duplicate of the file
    descriptor.

    `bounds` has the position of each line in bytes, and the end of the file.
    """

    def __init__(self, file: BufferedIOBase, bounds: npt.NDArray[Any]):
        self._bounds = bounds
        self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def cut(self, count: int) -> None:
        """Drop all lines from line number `count` on."""
        self._bounds = self._bounds[: count + 1]

    def read(self, start: int, stop: int) -> list[str]:
        """Return the lines `start` to `stop - 1`; `stop` must be above `start`."""
        begin, end = int(self._bounds[start]), int(self._bounds[stop])
        text = os.pread(self._file, end - begin, begin).decode().replace("\r\n", "\n")
        text = text.removesuffix("\n")
        return (text.removesuffix("\r") if stop == len(self) else text).split("\n")


class Column(LazyLines):
    """One tab-separated column of a sequence of lines."""

    def __init__(self, lines: Sequence[str], column: int):
        self._lines = lines
        self._column = column

    def __len__(self) -> int:
        return len(self._lines)

    def read(self, start: int, stop: int) -> list[str]:
        """Return the column's text in the lines `start` to `stop - 1`; `stop` must be above
        `start`.
        """
        return [line.split("\t")[self._column] for line in self._lines[start:stop]]


class Chosen(LazyLines):
    """A subset of a sequence of lines, given by increasing line numbers."""

    def __init__(self, lines: Sequence[str], rows: npt.NDArray[np.integer[Any]]):
        self._lines = lines
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, start: int, stop: int) -> list[str]:
        """Return the lines `start` to `stop - 1` of this subset; `stop` must be above `start`."""
        rows = self._rows[start:stop]
        runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
        return [line for run in runs for line in self._lines[int(run[0]) : int(run[-1]) + 1]]


def unpacked(path: Path) -> Iterator[bytes]:
    """Yield the content of a gzip file.

    Raises:
        UserError: the content is suspiciously large for text.
        OSError, EOFError, zlib.error: the file cannot be read, or is not a complete gzip file.
    """
    most, size = max(ALWAYS, RATIO * path.stat().st_size), 0
    with gzip.open(path) as packed:
        while chunk := packed.read(PACKED):
            size += len(chunk)
            if size > most:
                raise UserError(
                    f"{path} unpacks to more than {RATIO} times its size, which text hardly does: "
                    "if it is text, unpack it before"
                )
            yield chunk


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """Open a file to read its bytes; a `.gz` file is unpacked into an unnamed temporary file.

    Raises:
        UserError: the file cannot be read, is not a complete gzip file, or unpacks to too much.
    """
    try:
        if path.suffix != ".gz":
            with path.open("rb") as file:
                yield file
        else:
            with tempfile.TemporaryFile() as file:
                file.writelines(unpacked(path))
                file.seek(0)
                yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path} is not a whole gzip file: {error}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; a `.gz` file is unpacked.

    Raises:
        UserError: as `opened`.
    """
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_lines(path: Path) -> FileLines:
    """Return the lines of a UTF-8 text file (also `.gz`), after checking all its bytes.

    Raises:
        UserError: the file is missing, empty or not UTF-8.
    """
    with opened(path) as file:
        return FileLines(file, _bounds(path, file))


def read_text(path: Path) -> str:
    """Return the text of a file with line feeds as line ends, without a byte-order mark.

    Raises:
        UserError: the file is missing or not UTF-8.
    """
    return read_raw_text(path).removeprefix(MARK).replace("\r\n", "\n")


def read_raw_text(path: Path) -> str:
    """Return the text of a file unchanged, including byte-order mark and line ends.

    Raises:
        UserError: the file is missing or not UTF-8.
    """
    with opened(path) as file:
        return _decoded(str(path), file.read(), 0, 0)


def read_sentences(path: Path) -> FileLines:
    """Return the lines of a text file without the empty lines at its end.

    Raises:
        UserError: an error of `read_lines`; or a line is empty.
    """
    lines = read_lines(path)
    drop_last_empty(lines)
    refuse_empty_lines(lines, str(path))
    return lines


def stream_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """Yield the lines of a stream that can be read only once; `name` identifies it in errors.

    Raises:
        UserError: a line is not UTF-8.
    """
    start = 0
    for number, raw in enumerate(stream):
        line = _decoded(name, raw, start, number)
        start += len(raw)
        yield line.removeprefix("" if number else MARK).removesuffix("\n").removesuffix("\r")


def _bounds(path: Path, file: BufferedIOBase) -> npt.NDArray[Any]:
    """Return the position of each line of a file in bytes, and the end of the last line."""
    dtype = np.min_scalar_type(os.fstat(file.fileno()).st_size)
    mark = MARK.encode()
    end = file.seek(len(mark) if file.read(len(mark)) == mark else 0)
    bounds, lines, empty = [np.array([end], dtype)], 0, True
    while block := file.readlines(BLOCK):
        text = _decoded(str(path), b"".join(block), end, lines)
        empty = empty and not text.strip()
        bounds.append((end + np.cumsum([len(line) for line in block])).astype(dtype))
        end, lines = int(bounds[-1][-1]), lines + len(block)
    if empty:
        raise UserError(f"{path} is empty; it must hold one sentence per line.")
    return np.concatenate(bounds)


def _decoded(name: str, raw: bytes, start: int, lines: int) -> str:
    """Return a part of a file or stream as text.

    Args:
        name: name of the file or stream, for the error message.
        raw: the bytes of the part.
        start: number of bytes before the part, for the error message.
        lines: number of lines before the part, for the error message.

    Raises:
        UserError: the bytes are not UTF-8.
    """
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = lines + raw.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{name} is not UTF-8: line {line} has the byte 0x{raw[error.start]:02x} "
            f"at position {start + error.start} of the text."
        ) from error


def drop_last_empty(*files: FileLines) -> None:
    """Drop the lines at the end that are empty in all of the files."""
    # `read_lines` ensures that every file has a line with text
    last = max(next(n for n in range(len(lines), 0, -1) if lines[n - 1].strip()) for lines in files)
    for lines in files:
        lines.cut(last)


def refuse_empty_lines(lines: Sequence[str], where: str) -> None:
    """Raise a UserError if lines have no text, with the number of the first such line and their
    count.
    """
    empty = [number for number, line in enumerate(lines, start=1) if not line.strip()]
    if empty:
        raise UserError(
            f"{where}: line {empty[0]} is empty ({len(empty)} empty in all); "
            "every line must have text."
        )


def read_pair(src: Path, tgt: Path) -> Pairs:
    """Return the sentence pairs of two files; lines at the end that are empty in both files are
    dropped.

    Raises:
        UserError: an error of `read_lines`; or a line is empty, or the files differ in length.
    """
    sides = read_lines(src), read_lines(tgt)
    drop_last_empty(*sides)
    pairs = Pairs(*sides)
    if len(pairs.src) != len(pairs.tgt):
        raise UserError(
            f"{src} has {len(pairs.src)} lines and {tgt} has {len(pairs.tgt)}; "
            "line i of one must be the translation of line i of the other."
        )
    refuse_empty_lines(pairs.src, str(src))
    refuse_empty_lines(pairs.tgt, str(tgt))
    return pairs


def read_tsv(path: Path) -> Pairs:
    """Return the first two tab-separated columns of a file: source, target.

    A third column with a licence attribution, as in Tatoeba's files, is ignored.

    Raises:
        UserError: an error of `read_lines`; or a line has another number of columns, or a sentence
            is empty.
    """
    lines = read_lines(path)
    drop_last_empty(lines)
    for number, line in enumerate(lines, start=1):
        columns = line.split("\t")
        if len(columns) != 2 and not (len(columns) == 3 and ATTRIBUTION.match(columns[2])):
            raise UserError(
                f"{path}: line {number} has {len(columns)} tab-separated columns; "
                f"it must have two, the source and the target sentence{_hint(columns)}."
            )
    pairs = Pairs(Column(lines, 0), Column(lines, 1))
    refuse_empty_lines(pairs.src, f"{path}, column 1")
    refuse_empty_lines(pairs.tgt, f"{path}, column 2")
    return pairs


def _hint(columns: list[str]) -> str:
    """Return a phrase, in brackets, on how to produce a file with two columns, for an error
    message.
    """
    if len(columns) == 4 and columns[0].isdigit() and columns[2].isdigit():
        return " (Tatoeba's pairs with numbers: cut -f2,4 FILE > pairs.tsv)"
    if len(columns) > 2:
        return " (to keep the first two: cut -f1,2 FILE > pairs.tsv)"
    return " (a file per language is data.train=PREFIX for PREFIX.en and PREFIX.de)"
