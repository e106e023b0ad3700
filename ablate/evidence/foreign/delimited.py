"""Read results from a CSV or TSV file: a header, then a row per run, or per run and step."""

import csv
import gzip
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.builder import from_chunks, in_chunks
from ablate.evidence.foreign.reading import named
from ablate.evidence.foreign.table import Table

ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
DELIMITERS = (",", "\t", ";")


def read(path: Path, wanted: Iterable[str] = (), names: Iterable[str] = ()) -> Table:
    """Return the rows of a CSV or TSV file as a table.

    Args:
        path: the file, which may be compressed with gzip.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.
        names: columns of names, whose cells are texts as they are written.

    Raises:
        UserError: the file cannot be read, is empty, or has a row with more or fewer cells than the
            header.
    """
    try:
        with named(path), opened(path) as file:
            header = file.readline()
            file.seek(0)
            delimiter = max(DELIMITERS, key=header.count)
            # strict, because an unclosed quotation mark would otherwise hide all rows after it
            rows = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
            return _table(path, rows, wanted, names)
    except csv.Error as error:
        raise UserError(
            f"{path} cannot be read as CSV or TSV: {error}; quotation marks must surround a whole "
            "cell, and those within it must be doubled"
        ) from None


def opened(path: Path) -> TextIOWrapper:
    """Open a UTF-8 text file for reading; a file that ends in .gz is decompressed."""
    open_ = gzip.open if path.suffix == ".gz" else open
    return open_(path, "rt", encoding="utf-8-sig", newline="")


def _table(path: Path, rows: Any, wanted: Iterable[str], names: Iterable[str]) -> Table:
    header: list[str] = next(rows, [])
    if not any(name.strip() for name in header):
        raise UserError(f"{path} has no header: write the names of the columns into the first line")
    return from_chunks(str(path), _pieces(path, rows, _unique(path, header)), wanted, names)


def _pieces(path: Path, rows: Any, names: list[str]) -> Iterator[dict[str, tuple[str, ...]]]:
    """Yield chunks of rows as the cells of each column."""
    count = 0
    for piece in in_chunks(rows):
        if {*map(len, piece)} != {len(names)}:
            piece = [*whole_rows(path, piece, names, count)]
        yield dict(zip(names, zip(*piece, strict=True), strict=False))
        count += len(piece)


def whole_rows(
    path: Path, rows: list[list[str]], names: list[str], before: int
) -> Iterable[list[str]]:
    """Yield the rows that are not blank; raise UserError for a row with more or fewer cells than
    the header.

    Args:
        path: the file, for the message.
        rows: cells of each row.
        names: names of the columns.
        before: number of rows before the first given row, for the message.
    """
    for number, row in enumerate(rows, before + 1):
        if len(row) == len(names):
            yield row
        elif any(row):
            raise UserError(
                f"{path}, row {number}: it has {len(row)} cells, but the header has {len(names)}; "
                "repair the row"
            )


def _unique(path: Path, names: list[str]) -> list[str]:
    """Return the stripped names of the columns; a column without a name is called "column NUMBER".

    Raises:
        UserError: two columns have the same name.
    """
    column_names = [name.strip() or f"column {place}" for place, name in enumerate(names, 1)]
    twice = next((name for name in column_names if column_names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{path} has two columns called {twice}: rename one of them")
    return column_names
