"""Text of one language on the local disk: files cut into documents, lines, and tiny Shakespeare.

Files are UTF-8; a `.gz` file is unpacked. A byte-order mark at the start and carriage returns at
line ends are dropped. The end of a file ends a document.
"""

import hashlib
import lzma
from collections.abc import Iterator, Sequence
from functools import cached_property
from glob import escape, glob
from pathlib import Path
from typing import Annotated

from ablate.config.limits import OneOf, Range
from ablate.data import (
    SEPARATORS,
    SPLITS,
    TRAINED,
    Documents,
    Segment,
    check_split,
    read_text,
    split_documents,
)
from ablate.errors import UserError


class TextFiles(Documents):
    """A corpus whose documents are read from some of the user's text files and folders.

    Args:
        files: text of train, and of every split without files of its own; it may be empty if no
            such text is read.
        validation: files and folders; None: a part of `files`.
        test: files and folders; None: a part of `files`.
        held_out: fraction of `files` that is held out for splits without files of their own. Train
            comes first, then validation, then test; cuts are at line ends.
        documents: line, paragraph (separated by blank lines), or file.

    Raises:
        UserError: there is no such file or folder.
    """

    def __init__(
        self,
        *,
        files: list[str],
        validation: list[str] | None,
        test: list[str] | None,
        held_out: Annotated[float, Range(0, 1)],
        documents: Annotated[str, OneOf(tuple(SEPARATORS))],
    ) -> None:
        self._rule = documents
        self._held_out = held_out
        self._paths = _listed("files", files)
        given = {"validation": validation, "test": test}
        self._own = {k: _listed(k, names) for k, names in given.items() if names is not None}

    def segments(self, split: str) -> Iterator[Segment]:
        """Yield the documents of a split.

        Raises:
            UserError: there is no such split, there is no text for it, or a file is not text.
        """
        check_split(split, SPLITS)
        if not (texts := self._texts()[split]):
            raise UserError(
                f"data.held_out={self._held_out} leaves no line of data.files for {split}; give "
                "more text or another fraction, or separate files for validation and test."
            )
        for text in texts:
            yield from split_documents(text, SEPARATORS[self._rule])

    def fingerprint(self) -> str:
        """Return a hash of the text of train and validation, and of how it is split into
        documents.
        """
        digests = [self._digests[split] for split in TRAINED]
        return hashlib.sha256(repr((self._rule, digests)).encode()).hexdigest()

    def split_fingerprint(self, split: str) -> str:
        """Return a hash of the text of a split."""
        return self._digests[split]

    @cached_property
    def _digests(self) -> dict[str, str]:
        texts = self._texts().items()
        return {split: hashlib.sha256(repr(parts).encode()).hexdigest() for split, parts in texts}

    def _texts(self) -> dict[str, list[str]]:
        """Return the texts of each split, one for each of its files."""
        own = {split: [*map(_text, paths)] for split, paths in self._own.items()}
        missing = [split for split in SPLITS[1:] if split not in own]
        rest = [*map(_text, self._paths)]
        total, share = sum(map(len, rest)), self._held_out if missing else 0.0
        parts, done = own, 0
        for number, split in enumerate(("train", *missing)):
            end = total * (1 - share * (1 - number / max(1, len(missing))))
            parts[split], rest = _cut(rest, int(end) - done)
            done += sum(map(len, parts[split]))
        return {split: parts[split] for split in SPLITS}


def _listed(key: str, names: Sequence[str]) -> list[Path]:
    """Return the paths of files; a folder is replaced by all visible files below it, sorted by
    name.

    Args:
        key: config key that has the names, for error messages.
        names: paths of files and folders.
    """
    paths: list[Path] = []
    for name in names:
        path = Path(name).expanduser()
        if not path.exists():
            raise UserError(f"data.{key}: there is no file or folder {name}.")
        inside = map(Path, glob(f"{escape(str(path))}/**", recursive=True))  # follows links
        paths += sorted(filter(Path.is_file, inside)) if path.is_dir() else [path]
    return paths


def _cut(texts: list[str], place: int) -> tuple[list[str], list[str]]:
    """Return the texts before and after a cut behind the line with the character at position
    `place` of all texts together; the end of a text ends a line.
    """
    if place <= 0:
        return [], texts
    for number, text in enumerate(texts):
        if place < len(text):
            end = text.find("\n", place) + 1 or len(text)
            after = [text[end:]] if end < len(text) else []
            return [*texts[:number], text[:end]], [*after, *texts[number + 1 :]]
        place -= len(text)
    return texts, []


def _text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        UserError: the bytes are not UTF-8 text.
    """
    if "\0" in (text := read_text(path)):
        at = text.index("\0")
        raise UserError(f"{path} is not text: its character {at} is NUL; leave the file out.")
    return text


FILE = Path(__file__).with_name("tinyshakespeare.txt.xz")
TRAIN = 0.9


class Shakespeare(Documents):
    """Tiny Shakespeare: 40,000 lines of Shakespeare's plays, a common test text for language
    models.

    A corpus of Shakespeare's plays, split into documents.

    Source: data/tinyshakespeare/input.txt of the public repository karpathy/char-rnn, unchanged; it
        comes with the package (tinyshakespeare.txt.xz). 1,115,394 characters, 65 different ones.
        Licence: the plays are in the public domain.
    What differs: nothing. As everybody does, train is the first 90 % of the characters and
        validation the whole last 10 %. Test is the second half of these 10 %, so it is a part of
        validation.

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
