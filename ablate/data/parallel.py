"""Parallel text on the local disk (two files, or one file of two columns, per split); Multi30k."""

import gzip
import hashlib
import http.client
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ablate.config.limits import Count, OneOf, Seed
from ablate.data.corpus import SPLITS, TRAINED, Corpus, Pairs, check_split
from ablate.data.text import read_pair, read_sentences, read_tsv, sha256_of
from ablate.errors import UserError
from ablate.record.files import digest_of, write_bytes

ENDINGS = ("", ".gz", ".txt", ".txt.gz")
COLUMNS = tuple(f"{name}{packed}" for name in (".tsv", ".txt") for packed in ("", ".gz"))
Rows = npt.NDArray[np.integer[Any]]
DRAWN = "families of pairs"  # part of the fingerprint; names the rule that draws splits from train
# size of a drawn split whose size is not given: a fraction of train, and a maximum
DRAWN_SHARE, DRAWN_AT_MOST = 0.1, 1000


class Parallel(Corpus):
    """Sentence pairs from local files; missing held-out splits are drawn from train.

    `train`, `validation` and `test` are each a prefix or a file. The prefix `text/train` means
    `text/train.<source>` and `text/train.<target>`, each optionally followed by `.gz`, `.txt` or
    `.txt.gz` (the first existing file in this order). A name that ends in `.tsv` or `.txt`,
    optionally followed by `.gz`, is one file with the columns source and target (`read_tsv`).

    If `validation` or `test` is null, `validation_size` or `test_size` pairs are drawn from train
    with `split_seed`, and train keeps the remaining pairs in their order. If the size is null too,
    it is a tenth of the pairs, at most 1,000. Pairs that share a sentence stay together, so that no
    drawn sentence also occurs in train.

    An optional file `text/test.groups` names the document (or picture) of every line of `test`.
    """

    def __init__(
        self,
        *,
        source: str,
        target: str,
        train: str,
        validation: str | None,
        test: str | None,
        validation_size: Count | None,
        test_size: Count | None,
        split_seed: Seed,
    ):
        self._languages = (source, target)
        self._given = {"train": train, "validation": validation, "test": test}
        sizes = {"test": test_size, "validation": validation_size}
        self._sampled = {name: sizes[name] for name in sizes if self._given[name] is None}
        self._split_seed = split_seed
        self._drawn: dict[str, Rows] | None = None

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""
        return self._languages

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the training files."""
        return tuple(path.name for path in self._paths["train"])

    @property
    def division(self) -> str:
        """A sentence for the user that names the splits that are drawn from the training file, and
        the config keys that set their sizes.
        """
        drawn = sorted(self._sampled, key=SPLITS.index)
        sizes = " and ".join(f"data.{split}_size=N" for split in drawn)
        verb = "are" if len(drawn) > 1 else "is"
        return f"{' and '.join(drawn)} {verb} drawn from train (say {sizes})" if drawn else ""

    def read(self, split: str) -> Pairs:
        """Return the raw lines of a split.

        Raises:
            UserError: there is no such split or file, or its text is not usable.
        """
        check_split(split, SPLITS)
        if split in self._sampled or (split == "train" and self._sampled):
            return self._sample(split)
        return self._read_files(split)

    def groups(self, split: str) -> list[str] | None:
        """Return the group of each sentence pair, such as the name of its document, from the
        `.groups` file of the split; None if there is no such file.

        Raises:
            UserError: the file does not have one line per pair, or is not text.
        """
        path = self._groups(split)
        if path is None:
            return None
        names = [name.strip() for name in read_sentences(path)]
        lines = len(self.read(split).src)
        if len(names) != lines:
            raise UserError(f"{path} has {len(names)} lines; it must have one per pair, {lines}")
        return names

    def _groups(self, split: str) -> Path | None:
        given = self._given[split] or ""
        for ending in (".gz", ".tsv", ".txt"):
            given = given.removesuffix(ending)
        path = Path(f"{given}.groups")
        return path if given and os.path.lexists(path) else None

    def fingerprint(self) -> str:
        """Return a hash of the files of train and validation, and of how splits are drawn from
        train.
        """
        digest = hashlib.sha256()
        for name in TRAINED:
            digest.update(self._digests(name).encode())
        if self._sampled:
            digest.update(f"{self._sampled} {self._split_seed} {DRAWN}".encode())
        return digest.hexdigest()

    def test_fingerprint(self, split: str) -> str:
        """Return the hashes of a split's files; "" if the split is drawn from train."""
        return self._digests(split)

    def _digests(self, split: str) -> str:
        """Return the SHA-256 of each file of a split, one per line."""
        paths = self._paths.get(split, ())
        return "".join(f"{split} {digest_of(path)}\n" for path in paths)

    @cached_property
    def _paths(self) -> dict[str, tuple[Path, ...]]:
        return {
            name: _find(name, given, self._languages)
            for name, given in self._given.items()
            if given is not None
        }

    def _read_files(self, split: str) -> Pairs:
        paths = self._paths[split]
        return read_tsv(paths[0]) if len(paths) == 1 else read_pair(*paths)

    def _sample(self, split: str) -> Pairs:
        pairs = self._read_files("train")
        if self._drawn is None:
            self._drawn = self._rows(pairs)
        rows = self._drawn[split]
        return Pairs(*([lines[row] for row in rows] for lines in pairs))

    def _rows(self, pairs: Pairs) -> dict[str, Rows]:
        """Return the line numbers of train, and of each split that is drawn from the training file.

        Families (pairs with common sentences) are drawn in random order. A family that does not fit
        into a split is offered to the next split.
        """
        lines = len(pairs.src)
        share = max(1, min(DRAWN_AT_MOST, int(DRAWN_SHARE * lines)))
        wanted = {n: share if size is None else size for n, size in self._sampled.items()}
        if sum(wanted.values()) >= lines:
            sizes = " and ".join(f"data.{name}_size={size}" for name, size in wanted.items())
            raise UserError(
                f"{sizes} leave nothing of the {lines} pairs of data.train to train on."
            )
        family = families(pairs)
        order = np.random.default_rng(self._split_seed).permutation(int(family.max()) + 1)
        sizes_of = np.bincount(family)
        side = np.zeros(len(order), np.uint8)  # split of each family; 0 is train
        for number, size in enumerate(wanted.values(), start=1):
            side[_fitting(order[side[order] == 0], sizes_of, size)] = number
        return {
            name: np.flatnonzero(side[family] == number).astype(np.uint32)
            for number, name in enumerate(("train", *wanted))
        }


def families(pairs: Pairs) -> npt.NDArray[np.intp]:
    """Return a family number for each sentence pair: pairs that share a source or a target have the
    same number.

    Pairs of the same family must be in the same split. Pairs that are connected through other pairs
    also have the same number. Families are numbered in the order of their first lines.
    """
    # here, because Multi30k does not need scipy, whose import is slow
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    sources, targets = (_numbered(lines) for lines in pairs)
    lines, above = len(sources), int(sources.max()) + 1
    joined = coo_array((np.ones(lines, bool), (sources, targets + above)), shape=(2 * lines,) * 2)
    family = connected_components(joined, directed=False)[1][sources]
    _, first, named = np.unique(family, return_index=True, return_inverse=True)
    return first.argsort().argsort()[named]


def _numbered(lines: Sequence[str]) -> npt.NDArray[np.intp]:
    """Return an integer for each line, the same for equal lines."""
    digests = (hashlib.blake2b(line.strip().encode(), digest_size=8).digest() for line in lines)
    hashes = np.frombuffer(b"".join(digests), np.uint64)
    return np.unique(hashes, return_inverse=True)[1]


def _fitting(order: Rows, sizes: npt.NDArray[np.intp], room: int) -> list[int]:
    """Return the first families in `order` that together have at most `room` lines.

    A family is a group of lines that must be in the same split, because they share a sentence. A
    family that is too large for the remaining room is skipped.

    Args:
        order: family numbers.
        sizes: number of lines of each family.
        room: maximum number of lines.
    """
    fitting = []
    for family in order.tolist():
        if sizes[family] <= room:
            fitting.append(family)
            room -= int(sizes[family])
        if not room:
            break
    return fitting


def _find(split: str, given: str, languages: tuple[str, str]) -> tuple[Path, ...]:
    if given.endswith(COLUMNS) and (".tsv" in given or Path(given).is_file()):
        if not Path(given).is_file():
            raise UserError(f"data.{split}: there is no file {given}.")
        return (Path(given),)
    return tuple(_find_side(split, given, language) for language in languages)


def _find_side(split: str, prefix: str, language: str) -> Path:
    candidates = [Path(f"{prefix}.{language}{ending}") for ending in ENDINGS]
    for path in candidates:
        if path.is_file():
            return path
    names = ", ".join(path.name for path in candidates)
    raise UserError(
        f"data.{split}={prefix}: {candidates[0].parent.resolve()} holds none of {names}. "
        "One file of two columns is named with its ending, as pairs.tsv."
    )


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
Side = Annotated[str, OneOf(("en", "de"))]
TIMEOUT = 30.0  # seconds without receiving any byte
# of the network, of the address (ValueError), and of the gzip file
FAILURES = (OSError, http.client.HTTPException, ValueError, EOFError, zlib.error)
ELSEWHERE = "give the folder that holds the unpacked files as data.root"


class Multi30k(Corpus):
    """Multi30k, task 1: 29,000 English image captions and their German translations.

    The corpus Multi30k, read from the folder `root`, or downloaded once from `url` into
    `download_to`.

    Source: Elliott et al. 2016, arXiv:1605.00459. Test is test_2016_flickr (1,000 sentences).
    The text is raw: cased, not tokenised.

    The SHA-256 of a file's text is verified on every use. `root` holds the unpacked files
    (train.en, val.en, test_2016_flickr.en and the same with .de).
    """

    def __init__(self, *, root: str | None, download_to: str, url: str, source: Side, target: Side):
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
