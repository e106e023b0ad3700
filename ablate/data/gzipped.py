"""Read gzip files in chunks, up to a limit on the unpacked size."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from ablate.errors import UserError

CHUNK = 1 << 16
RATIO = 100  # largest unpacked size over packed size; text has 3 to 10, and gzip can reach 1,000
ALWAYS = 1 << 24  # bytes; files that unpack to less are always accepted


def unpacked(path: Path, name: str) -> Iterator[bytes]:
    """Yield the content of a gzip file.

    Raises:
        UserError: the content is suspiciously large for text; `name` identifies the file in the
            message.
        OSError, EOFError, zlib.error: the file cannot be read, or is not a complete gzip file.
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
