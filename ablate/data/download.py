"""Download a gzip file of text, unpack and verify the text, and move the text to its path."""

import gzip
import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
import zlib
from pathlib import Path
from typing import IO

from ablate.data.gzipped import unpacked
from ablate.errors import UserError
from ablate.progress import Work
from ablate.record.files import writing

CHUNK = 1 << 16
TIMEOUT = 30.0  # seconds without receiving any byte
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
        _download(url, path, sha256)


def _download(url: str, path: Path, sha256: str) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        packed, text = Path(folder, "packed"), Path(folder, "text")
        with packed.open("wb") as file:
            _fetch(url, file)
        digest = _unpack(url, packed, text)
        if digest != sha256:
            raise UserError(
                f"The text of {url} for {path.name} has the SHA-256 {digest}, expected {sha256}; "
                f"it was not kept: try again, or {ELSEWHERE}."
            )
        os.replace(text, path)


def _fetch(url: str, file: IO[bytes]) -> None:
    """Stream the bytes at `url` into `file`.

    Raises:
        UserError: the server cannot be reached, has no such file, or closes the connection.
    """
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
            _copy(url, response, file)
    except urllib.error.HTTPError as error:
        error.close()
        raise UserError(
            f"{url} cannot be downloaded, the server answers {error.code} {error.reason}: "
            f"check data.url, or {ELSEWHERE}."
        ) from error
    except urllib.error.URLError as error:
        raise UserError(
            f"{url} cannot be reached ({error.reason}): without a network, {ELSEWHERE}."
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise UserError(
            f"The download of {url} broke off ({error!r}): try again, or {ELSEWHERE}."
        ) from error


def _copy(url: str, response: http.client.HTTPResponse, file: IO[bytes]) -> None:
    """Copy an HTTP response to a file; raise a UserError if the response ends before its announced
    length.
    """
    announced = response.headers.get("Content-Length")
    total = None if announced is None else int(announced)
    received = 0
    with Work(f"downloading {url.rsplit('/', 1)[-1]} (bytes)", total) as work:
        while chunk := response.read(CHUNK):
            received += file.write(chunk)
            work.advance(len(chunk))
    if total is not None and received < total:
        raise UserError(
            f"The download of {url} broke off after {received} of {total} bytes: "
            f"try again, or {ELSEWHERE}."
        )


def _unpack(url: str, packed: Path, text: Path) -> str:
    """Unpack a gzip file and return the SHA-256 of its text.

    Raises:
        UserError: the file is not a complete gzip file.
    """
    digest = hashlib.sha256()
    try:
        with text.open("wb") as file:
            for chunk in unpacked(packed, url):
                digest.update(chunk)
                file.write(chunk)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(
            f"{url} is not a whole gzip file ({error}): check data.url, or {ELSEWHERE}."
        ) from error
    return digest.hexdigest()
