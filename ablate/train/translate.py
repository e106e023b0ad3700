"""Sentences in, one a line, translations out."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from ablate.errors import UserError

if TYPE_CHECKING:
    from ablate.train.restore import Translator


def sentences(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of a stream.

    Raises:
        UserError: a line is not UTF-8.
    """
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise UserError(f"line {number} of standard input is not UTF-8") from None


def translate(translator: "Translator", batch: int, source: BinaryIO, target: BinaryIO) -> None:
    """Translate a stream line by line, `batch` lines at a time; a blank line stays blank."""
    lines = sentences(source)
    while chunk := list(islice(lines, batch)):
        target.write("".join(f"{line}\n" for line in translator(chunk)).encode())
        target.flush()
