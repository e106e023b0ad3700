"""Read text files of a user, and report everything that makes them unusable.

Only a line feed ends a line; characters such as U+2028 and U+0085 are part of the text. A
byte-order mark and carriage returns at line ends are dropped.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ablate.data.corpus import Pairs
from ablate.errors import UserError

MARK = "\ufeff"  # U+FEFF, the byte-order mark
BLANK_END = re.compile(r"\n\s*\Z")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its bytes; a `.gz` file is unpacked.

    Raises:
        UserError: the file cannot be read, or is not a complete gzip file.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {error}.") from error


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file; a `.gz` file is unpacked.

    Raises:
        UserError: as `opened`.
    """
    with opened(path) as file:
        return file.read()


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file (also `.gz`), without a byte-order mark and without
    empty lines at the end.

    Raises:
        UserError: the file is missing or not UTF-8, or a line has no text.
    """
    text = decoded(str(path), read_bytes(path)).removeprefix(MARK).replace("\r\n", "\n")
    lines = BLANK_END.sub("", text).removesuffix("\r").split("\n")
    refuse_empty_lines(lines, str(path))
    return lines


def stream_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """Yield the lines of a stream that can be read only once; `name` identifies it in errors.

    Raises:
        UserError: a line is not UTF-8.
    """
    start = 0
    for number, raw in enumerate(stream):
        line = decoded(name, raw, start, number)
        start += len(raw)
        yield line.removeprefix("" if number else MARK).removesuffix("\n").removesuffix("\r")


def decoded(name: str, raw: bytes, start: int = 0, lines: int = 0) -> str:
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


def refuse_empty_lines(lines: Sequence[str], where: str) -> None:
    """Raise UserError with the number of the first line that has no text, if there is one."""
    if empty := [number for number, line in enumerate(lines, start=1) if not line.strip()]:
        raise UserError(f"{where}: line {empty[0]} is empty; every line must have text.")


def read_pair(src: Path, tgt: Path) -> Pairs:
    """Return the sentence pairs of two files.

    Raises:
        UserError: as `read_lines`; or the files differ in length.
    """
    pairs = Pairs(read_lines(src), read_lines(tgt))
    if len(pairs.src) != len(pairs.tgt):
        raise UserError(
            f"{src} has {len(pairs.src)} lines and {tgt} has {len(pairs.tgt)}; "
            "line i of one must be the translation of line i of the other."
        )
    return pairs


def read_table(path: Path) -> Pairs:
    """Return the first two tab-separated columns of a file: source, target.

    Raises:
        UserError: as `read_lines`; or a line has a single column, or a sentence is empty.
    """
    rows = [line.split("\t") for line in read_lines(path)]
    for number, columns in enumerate(rows, start=1):
        if len(columns) < 2:
            raise UserError(
                f"{path}: line {number} has no tab; it must have two columns, the source and the "
                "target sentence."
            )
    pairs = Pairs([columns[0] for columns in rows], [columns[1] for columns in rows])
    for number, column in enumerate(pairs, start=1):
        refuse_empty_lines(column, f"{path}, column {number}")
    return pairs
