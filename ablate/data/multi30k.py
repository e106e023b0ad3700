"""Multi30k, task 1: 29,000 English image captions and their German translations.

Source: Elliott et al. 2016, arXiv:1605.00459. Test is test_2016_flickr (1,000 sentences).
The text is raw: cased, not tokenised.
"""

import gzip
import hashlib
import http.client
import urllib.error
import urllib.request
import zlib
from pathlib import Path

from ablate.data.pairs import SPLITS, Corpus, Pairs, check_split
from ablate.data.text import read_pair, sha256_of
from ablate.errors import UserError
from ablate.record.files import write_bytes

FILES = {"train": "train", "validation": "val", "test": "test_2016_flickr"}

# SHA-256 of the unpacked text
EXPECTED = {
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
}
LANGUAGES = ("en", "de")
TIMEOUT = 30.0  # seconds without receiving any byte
# of the network, of the address (ValueError), and of the gzip file
FAILURES = (OSError, http.client.HTTPException, ValueError, EOFError, zlib.error)
ELSEWHERE = "give the folder that holds the unpacked files as data.root"


class Multi30k(Corpus):
    """The corpus Multi30k, read from the folder `root`, or downloaded once from `url` into
    `download_to`.

    The SHA-256 of a file's text is verified on every use. `root` holds the unpacked files
    (train.en, val.en, test_2016_flickr.en and the same with .de).
    """

    def __init__(self, *, root: str | None, download_to: str, url: str, source: str, target: str):
        if {source, target} != set(LANGUAGES):
            raise UserError(
                f"data.source={source} data.target={target}: Multi30k is read with "
                f"the two languages {' and '.join(LANGUAGES)}, in either direction."
            )
        self._languages = (source, target)
        self._root = None if root is None else Path(root)
        self._download_to = Path(download_to)
        self._url = url.rstrip("/")

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""
        return self._languages

    def read(self, split: str) -> Pairs:
        """Return the raw lines of a split.

        Raises:
            UserError: there is no such split, a file is missing or changed, or the download failed.
        """
        check_split(split, SPLITS, "Multi30k")
        src, tgt = (self._path(f"{FILES[split]}.{language}") for language in self._languages)
        return read_pair(src, tgt)

    def fingerprint(self) -> str:
        """Return a hash of the text, after verifying all files.

        Raises:
            UserError: a file is missing or changed, or the download failed.
        """
        names = [f"{name}.{language}" for name in FILES.values() for language in self._languages]
        for name in names:
            self._path(name)
        return hashlib.sha256("\n".join(EXPECTED[name] for name in names).encode()).hexdigest()

    def _path(self, name: str) -> Path:
        """Return the path of a verified file; download it first if necessary."""
        expected = EXPECTED[name]
        if self._root is None:
            path = self._download_to / name
            if not path.is_file() or sha256_of(path) != expected:
                download(f"{self._url}/{name}.gz", path, expected)
            return path
        path = self._root / name
        if not path.is_file():
            raise UserError(f"data.root={self._root} has no file {name}.")
        digest = sha256_of(path)
        if digest != expected:
            raise UserError(
                f"{path} is not the file of Multi30k: its SHA-256 is {digest}, expected {expected}."
            )
        return path


def download(url: str, path: Path, sha256: str) -> None:
    """Download the gzip file at `url` and store its text at `path`.

    `sha256` is the expected hash of the unpacked text. The file at `path` appears only when it is
    complete and verified, so several processes may download at the same time.

    Raises:
        UserError: no network, no such file, an interrupted connection, a wrong SHA-256, or no disk
            space.
    """
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
            text = gzip.decompress(response.read())
    except FAILURES as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise UserError(
            f"{url} cannot be downloaded and unpacked ({error}): check the network and data.url, "
            f"try again, or {ELSEWHERE}."
        ) from error
    digest = hashlib.sha256(text).hexdigest()
    if digest != sha256:
        raise UserError(
            f"The text of {url} for {path.name} has the SHA-256 {digest}, expected {sha256}; it "
            f"was not kept: try again, or {ELSEWHERE}."
        )
    write_bytes(path, text)
