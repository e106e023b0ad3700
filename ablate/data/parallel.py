"""Sentence pairs: files of the user, and Multi30k."""

import gzip
import hashlib
import urllib.request
import zlib
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ablate.config.limits import Count, OneOf
from ablate.data import SPLITS, TRAINED, Corpus, Pairs, check_split, read_lines, refuse_empty_lines
from ablate.errors import UserError
from ablate.record.files import digest_of, write_bytes

ENDINGS = ("", ".gz", ".txt", ".txt.gz")
Rows = npt.NDArray[np.integer[Any]]
# size of a drawn split whose size is not given: a fraction of train, and a maximum
DRAWN_SHARE, DRAWN_AT_MOST = 0.1, 1000


class Parallel(Corpus):
    """Sentence pairs from local files; missing held-out splits are drawn from train.

    `train`, `validation` and `test` are each a prefix or a file. The prefix `text/train` means
    `text/train.<source>` and `text/train.<target>`, each optionally followed by `.gz`, `.txt` or
    `.txt.gz` (the first existing file in this order). The name of a file, such as `pairs.tsv`,
    means one file with the columns source and target (`read_table`).

    If `validation` or `test` is null, `validation_size` or `test_size` pairs are drawn from train
    at random, and train keeps the remaining pairs in their order. If the size is null too, it is a
    tenth of the pairs, at most 1,000. The token cache warns of drawn pairs that train has, too.

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
    ):
        self._languages = (source, target)
        self._given = {"train": train, "validation": validation, "test": test}
        sizes = {"test": test_size, "validation": validation_size}
        self._sampled = {name: sizes[name] for name in sizes if self._given[name] is None}

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""
        return self._languages

    def read(self, split: str) -> Pairs:
        """Return the raw lines of a split.

        Raises:
            UserError: there is no such split or file, or its text is not usable.
        """
        check_split(split, SPLITS)
        if split in self._sampled or (split == "train" and self._sampled):
            pairs = self._read_files("train")
            rows = self._rows(len(pairs.src))[split]
            return Pairs(*([lines[row] for row in rows] for lines in pairs))
        return self._read_files(split)

    def groups(self, split: str) -> list[str] | None:
        """Return the group of each sentence pair, such as the name of its document, from the
        `.groups` file of the split; None if there is no such file.
        """
        prefix = self._given[split] or ""
        for ending in (".gz", ".tsv", ".txt"):
            prefix = prefix.removesuffix(ending)
        path = Path(f"{prefix}.groups")
        return read_lines(path) if prefix and path.exists() else None

    def fingerprint(self) -> str:
        """Return a hash of the files of train and validation, and of how splits are drawn from
        train.
        """
        drawn = f"{self._sampled} drawn one by one" if self._sampled else ""
        files = "".join(map(self.split_fingerprint, TRAINED))
        return hashlib.sha256(f"{files}{drawn}".encode()).hexdigest()

    def split_fingerprint(self, split: str) -> str:
        """Return the hashes of a split's files; "" if the split is drawn from train."""
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
        return read_table(paths[0]) if len(paths) == 1 else read_pair(*paths)

    def _rows(self, lines: int) -> dict[str, Rows]:
        """Return the line numbers of train, and of each split that is drawn from the training
        file, which has this number of lines.
        """
        share = max(1, min(DRAWN_AT_MOST, int(DRAWN_SHARE * lines)))
        wanted = {n: share if size is None else size for n, size in self._sampled.items()}
        if sum(wanted.values()) >= lines:
            sizes = " and ".join(f"data.{name}_size={size}" for name, size in wanted.items())
            raise UserError(
                f"{sizes} leave nothing of the {lines} pairs of data.train to train on."
            )
        order = np.random.default_rng(0).permutation(lines)
        parts = np.split(order, np.cumsum([*wanted.values()]))
        return dict(zip((*wanted, "train"), map(np.sort, parts), strict=True))


def read_pair(src: Path, tgt: Path) -> Pairs:
    """Return the sentence pairs of two files.

    Raises:
        UserError: as `read_lines`; or the files differ in length.
    """
    pairs = Pairs(read_lines(src), read_lines(tgt))
    if len(pairs.src) != len(pairs.tgt):
        raise UserError(
            f"{src} has {len(pairs.src)} lines and {tgt} has {len(pairs.tgt)}; "
            "line i of one must be the translation of line i of the other."
        )
    return pairs


def read_table(path: Path) -> Pairs:
    """Return the first two tab-separated columns of a file: source, target.

    Raises:
        UserError: as `read_lines`; or a line has a single column, or a sentence is empty.
    """
    rows = [line.split("\t") for line in read_lines(path)]
    for number, columns in enumerate(rows, start=1):
        if len(columns) < 2:
            raise UserError(
                f"{path}: line {number} has no tab; it must have two columns, the source and the "
                "target sentence."
            )
    pairs = Pairs([columns[0] for columns in rows], [columns[1] for columns in rows])
    for number, column in enumerate(pairs, start=1):
        refuse_empty_lines(column, f"{path}, column {number}")
    return pairs


def _find(split: str, given: str, languages: tuple[str, str]) -> tuple[Path, ...]:
    if Path(given).is_file():
        return (Path(given),)
    return tuple(_find_side(split, given, language) for language in languages)


def _find_side(split: str, prefix: str, language: str) -> Path:
    candidates = [Path(f"{prefix}.{language}{ending}") for ending in ENDINGS]
    for path in candidates:
        if path.is_file():
            return path
    names = ", ".join(path.name for path in (Path(prefix), *candidates))
    raise UserError(
        f"data.{split}={prefix}: {candidates[0].parent.resolve()} holds none of {names}."
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


class Multi30k(Parallel):
    """Multi30k, task 1: 29,000 English image captions and their German translations.

    The corpus Multi30k, read from the folder `root`, into which missing files are downloaded from
    `url`.

    Source: Elliott et al. 2016, arXiv:1605.00459. Test is test_2016_flickr (1,000 sentences).
    The text is raw: cased, not tokenised.

    The SHA-256 of every file is verified on every use. `root` holds the unpacked files (train.en,
    val.en, test_2016_flickr.en and the same with .de).
    """

    def __init__(self, *, root: str, url: str, source: Side, target: Side):
        files = {split: f"{root}/{name}" for split, name in FILES.items()}
        super().__init__(
            source=source, target=target, **files, validation_size=None, test_size=None
        )
        self._root, self._url = Path(root), url.rstrip("/")

    @cached_property
    def _paths(self) -> dict[str, tuple[Path, ...]]:
        """The files of each split, after missing ones are downloaded and all are verified."""
        for name, expected in EXPECTED.items():
            path = self._root / name
            if not path.is_file():
                download(f"{self._url}/{name}.gz", path)
            if (digest := digest_of(path)) != expected:
                raise UserError(
                    f"{path} is not the file of Multi30k: its SHA-256 is {digest}, expected "
                    f"{expected}: remove it, or give another folder as data.root."
                )
        return {
            split: tuple(self._root / f"{name}.{language}" for language in self._languages)
            for split, name in FILES.items()
        }


def download(url: str, path: Path) -> None:
    """Download the gzip file at `url` and store its text at `path`, which appears only when it is
    complete, so that several processes may download at the same time.

    Raises:
        UserError: no network, no such file, or an interrupted connection.
    """
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
            text = gzip.decompress(response.read())
    except (OSError, EOFError, zlib.error) as error:  # of the network, and of the gzip file
        raise UserError(
            f"{url} cannot be downloaded ({error}): try again, or give the folder that holds the "
            "unpacked files as data.root."
        ) from None
    write_bytes(path, text)
