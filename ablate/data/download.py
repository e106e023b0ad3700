"""Download a gzip file of text, unpack and verify the text, and move the text to its path."""

import gzip
import http.client
import os
import shutil
import ssl
import tempfile
import urllib.error
import urllib.request
import zlib
from pathlib import Path

from ablate.data.gzipped import unpacked
from ablate.errors import UserError
from ablate.record.files import digest_of, writing

TIMEOUT = 30.0  # seconds without receiving any byte
# other errors, such as a full disk, are about the file that is written
FAILURES = (
    *(urllib.error.URLError, http.client.HTTPException, ssl.SSLError, ConnectionError),
    *(TimeoutError, ValueError),  # no URL
    *(gzip.BadGzipFile, EOFError, zlib.error),
)
ELSEWHERE = "give the folder that holds the unpacked files as data.root"


def download(url: str, path: Path, sha256: str) -> None:
    """Download the gzip file at `url` and store its text at `path`.

    `sha256` is the expected hash of the unpacked text. The file at `path` appears only when it is
    complete and verified, so several processes may download at the same time.

    Raises:
        UserError: no network, no such file, an interrupted connection, a wrong SHA-256, or no disk
            space.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            packed, text = Path(folder, "packed"), Path(folder, "text")
            _fetch(url, packed, text)
            digest = digest_of(text)
            if digest != sha256:
                raise UserError(
                    f"The text of {url} for {path.name} has the SHA-256 {digest}, expected "
                    f"{sha256}; it was not kept: try again, or {ELSEWHERE}."
                )
            os.replace(text, path)


def _fetch(url: str, packed: Path, text: Path) -> None:
    """Store the gzip file at `url` as `packed`, and its unpacked content as `text`."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response, packed.open("wb") as file:
            shutil.copyfileobj(response, file)
        with text.open("wb") as file:
            file.writelines(unpacked(packed, url))
    except FAILURES as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise UserError(
            f"{url} cannot be downloaded and unpacked ({error}): check the network and data.url, "
            f"try again, or {ELSEWHERE}."
        ) from error
