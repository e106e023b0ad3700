"""Any parallel text on the local disk: two files or one .tsv per split."""

import hashlib
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ablate.config.limits import Seed
from ablate.data.pairs import Corpus, Pairs
from ablate.data.text import Chosen, read_pair, read_tsv
from ablate.errors import UserError

ENDINGS = ("", ".gz", ".txt", ".txt.gz")
SPLITS = ("train", "validation", "test")


class Parallel(Corpus):
    """Text pairs from local files; missing held-out splits are sampled from train.

    `train`, `validation` and `test` are each a prefix or a file. The prefix `text/train` stands
    for `text/train.<source>` and `text/train.<target>`, each also with `.gz`, `.txt` or
    `.txt.gz` appended (the first that exists, in this order). A name that ends in `.tsv` or
    `.tsv.gz` is one file with the columns source and target. Where `validation` or `test` is
    null, `validation_size` or `test_size` pairs are drawn from train by `split_seed`, and train
    is what remains, in its old order.
    """

    def __init__(
        self,
        *,
        source: str,
        target: str,
        train: str,
        validation: str | None,
        test: str | None,
        validation_size: int,
        test_size: int,
        split_seed: Seed,
    ):
        if source == target:
            raise UserError(f"data.source and data.target are both {source!r}; they must differ.")
        self._languages = (source, target)
        self._given = {"train": train, "validation": validation, "test": test}
        sizes = {"test": test_size, "validation": validation_size}
        self._sampled = {name: sizes[name] for name in sizes if self._given[name] is None}
        self._split_seed = split_seed
        for name, size in self._sampled.items():
            if size < 1:
                raise UserError(
                    f"data.{name}_size is {size}; with data.{name}=null it must be 1 or more."
                )

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""
        return self._languages

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return SPLITS

    def read(self, split: str) -> Pairs:
        """Return the raw lines of a split.

        Raises:
            UserError: no such split or file, or text that is not usable.
        """
        if split not in SPLITS:
            raise UserError(
                f"There is no split {split!r} in this corpus; it has {', '.join(SPLITS)}."
            )
        if split in self._sampled or (split == "train" and self._sampled):
            return self._sample(split)
        return self._read_files(split)

    def fingerprint(self) -> str:
        """Return a hash of the files' bytes and of the way train is split."""
        digest = hashlib.sha256()
        for name, paths in self._paths.items():
            for path in paths:
                with path.open("rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest()
                digest.update(f"{name} {content}\n".encode())
        if self._sampled:
            digest.update(f"{self._sampled} {self._split_seed}".encode())
        return digest.hexdigest()

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
        rows = self._rows(len(pairs.src))[split]
        src, tgt = (Chosen(lines, rows) for lines in pairs)
        if split == "train":
            return Pairs(src, tgt)
        return Pairs(list(src), list(tgt))  # few lines, which need no index of the whole file

    def _rows(self, lines: int) -> dict[str, npt.NDArray[np.uint32]]:
        """Return the line numbers of each split that comes from the file of train."""
        wanted = sum(self._sampled.values())
        if wanted >= lines:
            sizes = " and ".join(f"data.{name}_size={size}" for name, size in self._sampled.items())
            raise UserError(
                f"{sizes} leave nothing of the {lines} pairs of data.train to train on."
            )
        order = np.random.default_rng(self._split_seed).permutation(lines)[:wanted].copy()
        rows = {"train": np.delete(np.arange(lines, dtype=np.uint32), order)}
        for name, size in self._sampled.items():
            rows[name], order = np.sort(order[:size]).astype(np.uint32), order[size:]
        return rows


def _find(split: str, given: str, languages: tuple[str, str]) -> tuple[Path, ...]:
    if given.endswith((".tsv", ".tsv.gz")):
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
    raise UserError(f"data.{split}={prefix}: {candidates[0].parent} holds none of {names}.")
