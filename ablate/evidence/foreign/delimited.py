"""Runs of a CSV or TSV file: a header, then a row per run, or per run and step."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.table import Table, TableBuilder

ENDINGS = (".csv", ".tsv", ".txt")
DELIMITERS = (",", "\t", ";")


def read(path: Path, wanted: Iterable[str] = ()) -> Table:
    """Return the rows of a file.

    Raises:
        UserError: it cannot be read, it is empty, or a row has more or fewer cells than the header.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            file.seek(0)
            delimiter = max(DELIMITERS, key=header.count)
            return _table(path, csv.reader(file, delimiter=delimiter), wanted)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path} cannot be read as a table: {reason}") from None


def _table(path: Path, rows: Any, wanted: Iterable[str]) -> Table:
    names: list[str] = next(rows, [])
    if not any(name.strip() for name in names):
        raise UserError(f"{path} is empty: a table begins with the names of its columns")
    builder = TableBuilder(str(path), _unique(path, names), wanted)
    for row in rows:
        if len(row) != len(names):
            if not any(row):
                continue
            raise UserError(
                f"{path}, line {rows.line_num}: {len(row)} cells, but the header has {len(names)}"
            )
        builder.add(row)
    return builder.table()


def _unique(path: Path, names: list[str]) -> list[str]:
    """Return the names of the columns; one without a name has its number."""
    found = [name.strip() or f"column {place}" for place, name in enumerate(names, 1)]
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{path} has two columns called {twice}: rename one of them")
    return found
