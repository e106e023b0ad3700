"""Sentences in, one a line, translations out."""

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from ablate.data.text import stream_lines

if TYPE_CHECKING:
    from ablate.train.restore import Translator


def translate(
    translator: "Translator", batch: int, source: Iterable[bytes], target: BinaryIO
) -> None:
    """Translate a stream line by line, `batch` lines at a time; a blank line stays blank.

    Raises:
        UserError: a line is not UTF-8.
    """
    lines = stream_lines(source, "standard input")
    while chunk := list(islice(lines, batch)):
        target.write("".join(f"{line}\n" for line in translator(chunk)).encode())
        target.flush()
