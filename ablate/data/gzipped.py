"""Reads gzip files in chunks, up to a limit on the unpacked size."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from ablate.errors import UserError

CHUNK = 1 << 16
RATIO = 100  # unpacked to packed; of text it is 3 to 10, and gzip itself ends at 1,000
ALWAYS = 1 << 24  # bytes that any file may unpack to


def unpacked(path: Path, name: str) -> Iterator[bytes]:
    """Yield the content of a gzip file.

    Raises:
        UserError: it is larger than text would be; `name` stands for the file.
        OSError, EOFError, zlib.error: it cannot be read, or is not a whole gzip file.
    """
    most, size = max(ALWAYS, RATIO * path.stat().st_size), 0
    with gzip.open(path) as packed:
        while chunk := packed.read(CHUNK):
            size += len(chunk)
            if size > most:
                raise UserError(
                    f"{name} unpacks to more than {RATIO} times its size, which text hardly does: "
                    "if it is text, unpack it before"
                )
            yield chunk
