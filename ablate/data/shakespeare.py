"""Tiny Shakespeare: 40,000 lines of Shakespeare's plays, a common test text for language models.

Source: data/tinyshakespeare/input.txt of the public repository karpathy/char-rnn, unchanged; it
comes with the package (tinyshakespeare.txt.xz). 1,115,394 characters, 65 different ones.
Licence: the plays are in the public domain.
What differs: nothing. As everybody does, train is the first 90 % of the characters and validation
the whole last 10 %. Test is the second half of these 10 %, so it is a part of validation.
"""

import hashlib
import lzma
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated

from ablate.config.limits import OneOf
from ablate.data.documents import SEPARATORS, Documents, Segment, split_documents
from ablate.data.pairs import SPLITS, check_split

FILE = Path(__file__).with_name("tinyshakespeare.txt.xz")
TRAIN = 0.9


class Shakespeare(Documents):
    """A corpus of Shakespeare's plays, split into documents.

    Args:
        documents: paragraph (each speech), line, or file (the whole text).
    """

    def __init__(self, *, documents: Annotated[str, OneOf(tuple(SEPARATORS))]) -> None:
        self._rule = documents

    @property
    def languages(self) -> tuple[str, str]:
        """The language codes: "" for the missing source language, and "en" for the text."""
        return "", "en"

    def segments(self, split: str) -> Iterator[Segment]:
        """Yield the documents of a split.

        Raises:
            UserError: there is no such split.
        """
        check_split(split, SPLITS, "Shakespeare")
        total = len(self._text)
        end = int(TRAIN * total)
        ranges = {
            "train": slice(end),
            "validation": slice(end, total),
            "test": slice(end + (total - end) // 2, total),
        }
        return split_documents(self._text[ranges[split]], SEPARATORS[self._rule])

    def fingerprint(self) -> str:
        """Return a hash of the text and of the rule that cuts it into documents."""
        return hashlib.sha256(f"{self._rule}\n{self._text}".encode()).hexdigest()

    @cached_property
    def _text(self) -> str:
        return lzma.decompress(FILE.read_bytes()).decode()
