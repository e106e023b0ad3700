"""Lines of text files, with every way they can be unusable named in one sentence.

Only the line feed ends a line: characters such as U+2028 or U+0085 are part of the text.
A byte-order mark and carriage returns at line ends are dropped.
"""

import gzip
import zlib
from pathlib import Path

from ablate.data.pairs import Pairs
from ablate.errors import UserError

BOM = "\ufeff"


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, unpacked when its name ends in `.gz`.

    Raises:
        UserError: the file cannot be read or is not a whole gzip file.
    """
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as packed:
            return packed.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path} is not a whole gzip file: {error}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file, `.gz` or not.

    Raises:
        UserError: the file is missing, empty or not UTF-8.
    """
    raw = read_bytes(path)
    try:
        text = raw.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path} is not UTF-8: line {line} has the byte 0x{raw[error.start]:02x} "
            f"at position {error.start} of the file."
        ) from error
    if not text.strip():
        raise UserError(f"{path} is empty; it must hold one sentence per line.")
    return text.replace("\r\n", "\n").removesuffix("\n").removesuffix("\r").split("\n")


def refuse_empty_lines(lines: list[str], where: str) -> None:
    """Raise a UserError that names the first line without text, and how many there are."""
    empty = [number for number, line in enumerate(lines, start=1) if not line.strip()]
    if empty:
        raise UserError(
            f"{where}: line {empty[0]} is empty ({len(empty)} empty in all); "
            "every line must hold a sentence."
        )


def read_pair(src: Path, tgt: Path) -> Pairs:
    """Return two files of sentences, line by line.

    Raises:
        UserError: as `read_lines`; or a line is empty, or the files differ in length.
    """
    pairs = Pairs(read_lines(src), read_lines(tgt))
    if len(pairs.src) != len(pairs.tgt):
        raise UserError(
            f"{src} has {len(pairs.src)} lines and {tgt} has {len(pairs.tgt)}; "
            "line i of one must be the translation of line i of the other."
        )
    refuse_empty_lines(pairs.src, str(src))
    refuse_empty_lines(pairs.tgt, str(tgt))
    return pairs


def read_tsv(path: Path) -> Pairs:
    """Return the two tab-separated columns of a file: source, target.

    Raises:
        UserError: as `read_lines`; or a line has not two columns, or one of them is empty.
    """
    rows = [line.split("\t") for line in read_lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise UserError(
                f"{path}: line {number} has {len(row)} tab-separated columns; "
                "it must have two, the source and the target sentence."
            )
    pairs = Pairs([row[0] for row in rows], [row[1] for row in rows])
    refuse_empty_lines(pairs.src, f"{path}, column 1")
    refuse_empty_lines(pairs.tgt, f"{path}, column 2")
    return pairs
