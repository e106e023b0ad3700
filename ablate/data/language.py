"""Text of one language on the local disk, one text per line."""

import hashlib
from pathlib import Path

from ablate.data.pairs import SPLITS, TRAINED, Corpus, Pairs, check_split
from ablate.data.text import read_sentences, sha256_of
from ablate.errors import UserError


class Language(Corpus):
    """A corpus of texts of one language without sources: every source is an empty line.

    Args:
        language: language code of the text.
        train: file with the training texts, one per line; `.gz` is unpacked.
        validation: file with the validation texts, one per line; `.gz` is unpacked.
        test: file with the test texts, one per line; `.gz` is unpacked.
    """

    def __init__(self, *, language: str, train: str, validation: str, test: str):
        self._language = language
        self._paths = {
            split: _file(split, path)
            for split, path in zip(SPLITS, (train, validation, test), strict=True)
        }

    @property
    def languages(self) -> tuple[str, str]:
        """An empty code for the missing source language, and the code of the text's language."""
        return "", self._language

    @property
    def files(self) -> tuple[str, ...]:
        """The name of the file with the training split, as the only element."""
        return (self._paths["train"].name,)

    def read(self, split: str) -> Pairs:
        """Return the raw lines of a split.

        Raises:
            UserError: there is no such split, or its text is not usable.
        """
        check_split(split, SPLITS)
        lines = read_sentences(self._paths[split])
        return Pairs([""] * len(lines), lines)

    def fingerprint(self) -> str:
        """Return a hash of the text of train and validation."""
        lines = "".join(self.test_fingerprint(split) for split in TRAINED)
        return hashlib.sha256(f"language\n{lines}".encode()).hexdigest()

    def test_fingerprint(self, split: str) -> str:
        """Return the SHA-256 of the text of a split."""
        return f"{split} {sha256_of(self._paths[split])}\n"


def _file(split: str, given: str) -> Path:
    path = Path(given)
    if not path.is_file():
        raise UserError(f"data.{split}={given}: there is no such file.")
    return path
