"""Translate a stream of sentences, one per line."""

import sys
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from ablate.data.doubts import Lines
from ablate.data.text import stream_lines
from ablate.progress import Work

if TYPE_CHECKING:
    from ablate.train.restore import Translator


def translate(
    translator: "Translator", batch: int, source: Iterable[bytes], target: BinaryIO
) -> None:
    """Translate a stream line by line, `batch` lines at a time; a blank line stays blank.

    At the end, print to standard error which lines were too long and were cut.

    Raises:
        UserError: a line is not UTF-8.
    """
    lines = stream_lines(source, "standard input")
    cut = Lines()
    with Work("translating lines", shown=not sys.stdout.isatty()) as work:
        while chunk := list(islice(lines, batch)):
            cut.extend(translator.cuts(chunk))
            target.write("".join(f"{line}\n" for line in translator(chunk)).encode())
            target.flush()
            work.advance(len(chunk))
    if cut.count:
        print(
            f"warning: {cut} had more than the {translator.max_length - 1} tokens that the model "
            "takes; the rest of each was not translated",
            file=sys.stderr,
        )
