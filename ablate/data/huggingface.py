"""Data sets from the Hugging Face hub, and local files in its formats, read by `datasets`.

The package is an extra (pip install 'ablate[huggingface]'). The identity of the text follows from
the data files: hub files have their revision in their URL, and local files are hashed. With
streaming, only token ids are written to disk; the data files are read again in each pass.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ablate.data import SPLITS, Corpus, Documents, Pairs, Segment, check_split, segments_of
from ablate.errors import UserError
from ablate.record.files import digest_of


@dataclass(kw_only=True)
class HubData:
    """A data set on the Hugging Face hub or in local files, with splits named train, validation and
    test.

    Args:
        path: name on the hub, a folder, or a format (json, parquet, csv, text) of `data_files`.
        name: configuration of the data set; None if it has only one.
        data_files: if `path` is a format: a file or a list of files for each split.
        revision: commit, tag or branch on the hub.
        train: split of the data set for training; a part is train[:90%].
        validation: split of the data set for validation; a part is train[90%:].
        test: split of the data set for testing; a part is train[90%:].
        streaming: read rows while downloading, for data that does not fit on the disk.
        download_to: folder for downloaded files.

    Raises:
        UserError: the package is not installed.
    """

    path: str
    name: str | None
    data_files: dict[str, str | list[str]] | None
    revision: str | None
    train: str
    validation: str
    test: str
    streaming: bool
    download_to: str

    def __post_init__(self) -> None:
        if find_spec("datasets") is None:
            raise UserError(
                "data=huggingface needs the package datasets, which is not installed; install it "
                "with pip install 'ablate[huggingface]'"
            )

    def rows(self, split: str) -> Any:
        """Return an iterable of the rows of a split; each row is a dictionary by column.

        Raises:
            UserError: there is no such split.
        """
        check_split(split, SPLITS)
        where = self._where | {"cache_dir": self._prepared, "split": getattr(self, split)}
        return _library().load_dataset(**where, streaming=self.streaming)

    def values(self, split: str, field: str, key: str) -> Iterator[str]:
        """Yield the text in a field of every row.

        Args:
            split: name of the split.
            field: name of the column; names with dots between them, such as translation.en, for a
                nested field.
            key: config key that names the field, for error messages.

        Raises:
            UserError: there is no such split, or a field holds no text.
        """
        rows = self.rows(split)
        columns = rows.column_names
        column, *inside = [field] if field in (columns or ()) else field.split(".")
        for number, row in enumerate(rows.select_columns([column]) if columns else rows, start=1):
            value = row.get(column)
            for part in inside:
                value = value.get(part) if isinstance(value, dict) else None
            if not isinstance(value, str):
                raise UserError(
                    f"{key}={field}: in row {number} of {split} this field is {value!r}; it must "
                    "be text."
                )
            yield value

    def fingerprint(self) -> str:
        """Return a hash of the data files and their format, of the split names, and of the fields
        that are read.
        """
        kind, files = self._content
        names = [getattr(self, split) for split in SPLITS]
        given = f"{kind} {self.name} {names} {self.columns}\n{files}"
        return hashlib.sha256(given.encode()).hexdigest()

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the fields (columns) that are read."""

    @cached_property
    def _content(self) -> tuple[str, str]:
        """The format of the data files, such as JsonConfig, and a line for each file: its split,
        and the SHA-256 of a local file or the URL of a hub file.
        """
        config = _library().load_dataset_builder(**self._where).config
        files = sorted((config.data_files or {}).items(), key=str)
        lines = [
            f"{split} {digest_of(Path(path)) if Path(path).is_file() else path}\n"
            for split, paths in files
            for path in paths
        ]
        return type(config).__name__, "".join(lines)

    @property
    def _prepared(self) -> str:
        """Folder for downloaded files and prepared rows.

        The library assumes that a local file is unchanged if its modification time is unchanged.
        The rows of local files are therefore stored in a folder whose name is a digest of the
        content of the files.
        """
        files = self._content[1]
        digest = "" if "://" in files else hashlib.sha256(files.encode()).hexdigest()[:16]
        return str(Path(self.download_to, digest))

    @property
    def _where(self) -> dict[str, object]:
        where = {"path": self.path, "name": self.name, "data_files": self.data_files}
        # in a CSV file, a text such as NA is a text and not a missing value
        plain = {"keep_default_na": False} if self.path == "csv" else {}
        return {**where, **plain, "revision": self.revision, "cache_dir": self.download_to}


@dataclass(kw_only=True)
class HuggingFace(HubData, Documents):
    """Documents from one field: each row is a document.

    Args:
        field: column with the texts; dots lead to a nested field, as in a.b.
        others: see `HubData`.
    """

    field: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Name of the only field (column) that is read."""
        return (self.field,)

    def segments(self, split: str) -> Iterator[Segment]:
        """Yield each row of a split as a document."""
        for text in self.values(split, self.field, "data.field"):
            yield from segments_of(text, "")


@dataclass(kw_only=True)
class HuggingFacePairs(HubData, Corpus):
    """Sentence pairs from two fields of a data set.

    Args:
        source: language code of the source.
        target: language code of the target.
        source_field: column with the sources; dots lead to a nested field, as in translation.en.
        target_field: column with the targets; dots lead to a nested field, as in translation.de.
        others: see `HubData`.

    Raises:
        UserError: the package is not installed.
    """

    source: str
    target: str
    source_field: str
    target_field: str

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""
        return self.source, self.target

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the two fields (columns) that are read, for source and target."""
        return self.source_field, self.target_field

    def read(self, split: str) -> Pairs:
        """Return the sentence pairs of a split.

        Raises:
            UserError: a row is empty or has several lines.
        """
        src, tgt = (self._sentences(split, key) for key in ("source_field", "target_field"))
        return Pairs(src, tgt)

    def _sentences(self, split: str, key: str) -> list[str]:
        field = getattr(self, key)
        sentences = [*self.values(split, field, f"data.{key}")]
        for number, text in enumerate(sentences, start=1):
            if not text.strip() or "\n" in text:
                raise UserError(
                    f"data.{key}={field}: the sentence in row {number} of {split} must be one line "
                    "of text."
                )
        return sentences


def _library() -> Any:
    """Import and return the package `datasets`; the import takes seconds, so it is delayed to the
    first use.
    """
    import datasets

    datasets.disable_progress_bars()
    return datasets
