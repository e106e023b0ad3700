"""A table of runs by columns, as every reader of foreign runs returns it.

A column keeps numbers as an array and texts by their codes, so that a million rows stay small. A
column of texts that nearly all differ, such as run ids, is kept only where the reader was asked
for it.
"""

import difflib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ablate.errors import UserError

NUMBER, EMPTY = -1, -2  # codes of cells without a text
MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "-"))  # texts without a number
CHUNK = 20_000  # rows that are turned into columns at a time
MOST_TEXTS = 20_000  # different texts of a column that is kept without being asked for
TRUTH = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}

Numbers = Float[np.ndarray, " rows"]
Codes = Int[np.ndarray, " rows"]
Rows = Bool[np.ndarray, " rows"]
Row = dict[str, Any]  # the cells of a row, or plain data by its keys


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Args:
        numbers: the cells that are numbers; NaN for all others.
        codes: by row the place in `texts`, or `NUMBER` or `EMPTY`; NaN that a file has in so many
            letters is a number.
        texts: the different texts.
    """

    numbers: Numbers
    codes: Codes
    texts: list[str]

    def take(self, rows: np.ndarray) -> "Column":
        """Return some rows of the column, by a mask or by their places."""
        return Column(self.numbers[rows], self.codes[rows], self.texts)

    def constant(self, rows: np.ndarray) -> str | None:
        """Return the label that all of some rows have, "" where all are empty; None if none is."""
        codes, numbers = self.codes[rows], self.numbers[rows]
        if not len(codes) or (codes != codes[0]).any():
            return None
        if codes[0] >= 0:
            return self.texts[codes[0]]
        if codes[0] == EMPTY:
            return ""
        return number_text(float(numbers[0])) if (numbers == numbers[0]).all() else None

    def first_text(self) -> tuple[int, str] | None:
        """Return row and text of the first cell that holds neither a number nor nothing."""
        wrong = [code for code, text in enumerate(self.texts) if text.lower() not in MISSING]
        rows = np.flatnonzero(np.isin(self.codes, wrong)) if wrong else np.empty(0, int)
        return (int(rows[0]), self.texts[self.codes[rows[0]]]) if len(rows) else None

    def labels(self) -> tuple[Codes, list[str]]:
        """Return the place of each cell in a list of labels, and the list; empty cells have -1."""
        places = np.full(len(self.codes), -1, dtype=np.int64)
        named = list(self.texts)
        texts = self.codes >= 0
        places[texts] = self.codes[texts]
        numeric = (self.codes == NUMBER) & ~np.isnan(self.numbers)
        if numeric.any():
            values, inverse = np.unique(self.numbers[numeric], return_inverse=True)
            places[numeric] = inverse + len(named)
            named += [number_text(float(value)) for value in values]
        used = np.unique(places[places >= 0])
        order = np.full(len(named) + 1, -1, dtype=np.int64)
        order[used] = np.arange(len(used))
        return order[places], [named[place] for place in used]


@dataclass(frozen=True)
class Table:
    """Runs in rows.

    Args:
        source: where they come from, as a person says it.
        columns: by name.
        digests: a number per row that equal rows share, empty where the source gives none.
        notes: what a reader of a verdict must know of the source.
        unread: names of columns that were too varied to be kept.
    """

    source: str
    columns: dict[str, Column]
    rows: int
    digests: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def column(self, name: str, key: str) -> Column:
        """Return a column; `key` is what asks for it.

        Raises:
            UserError: there is no such column.
        """
        if name not in self.columns:
            names = [*self.columns]
            raise UserError(f"{key}={name}: {self.source} has no such column; {meant(name, names)}")
        return self.columns[name]

    def numbers(self, name: str, key: str) -> Numbers:
        """Return a column of numbers, NaN where a cell is empty.

        Raises:
            UserError: there is no such column, or it holds a text.
        """
        column = self.column(name, key)
        if (text := column.first_text()) is not None:
            row, cell = text
            raise UserError(
                f"{key}={name}: {self.source} has the text {cell!r} in row {row + 1} where a "
                "number must be; empty cells, NaN and inf are allowed"
            )
        return column.numbers

    def take(self, rows: np.ndarray) -> "Table":
        """Return a table of some rows, by a mask or by their places."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        digests = self.digests[rows] if len(self.digests) else self.digests
        count = int(rows.sum()) if rows.dtype == bool else len(rows)
        return Table(self.source, columns, count, digests, self.notes, self.unread)


def number_text(number: float) -> str:
    """Return a number as a label: 3 for 3.0, else the shortest text that is the same number."""
    if math.isfinite(number) and number == int(number) and abs(number) < 1e15:
        return str(int(number))
    return repr(number)


def label_of(given: Any) -> str:
    """Return the label that a value given by a user has in a column."""
    if isinstance(given, bool):
        return str(given).lower()
    try:
        return number_text(float(given))
    except (TypeError, ValueError):
        return TRUTH.get(str(given), str(given))


def meant(word: str, names: Sequence[str]) -> str:
    """Return the end of a sentence about a name that does not exist."""
    by_case = [name for name in names if name.lower() == word.lower()]
    near = by_case or difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]}?"
    shown = ", ".join(islice(names, 12))
    return f"there are {shown}{', ...' if len(names) > 12 else ''}"


class TableBuilder:
    """Collects rows into columns.

    Args:
        source: where the rows come from, for messages.
        names: of the columns.
        wanted: columns that are kept however many different texts they hold.
    """

    def __init__(self, source: str, names: Sequence[str], wanted: Iterable[str] = ()) -> None:
        self.source = source
        self.columns = [_Collector(name in {*wanted}) for name in names]
        self.names = list(names)
        self.rows: list[Sequence[Any]] = []
        self.digests: list[Codes] = []
        self.count = 0

    def add(self, row: Sequence[Any]) -> None:
        """Add a row with a cell per column: a text, a number, or None."""
        self.rows.append(row)
        if len(self.rows) >= CHUNK:
            self._flush()

    def _flush(self) -> None:
        if not self.rows:
            return
        self.count += len(self.rows)
        hashes = [hash(tuple(map(str, row))) for row in self.rows]
        self.digests.append(np.array(hashes, dtype=np.int64))
        for collector, cells in zip(self.columns, zip(*self.rows, strict=True), strict=True):
            collector.add(cells)
        self.rows = []

    def table(self, notes: Iterable[str] = ()) -> Table:
        """Return the table.

        Raises:
            UserError: it has no rows.
        """
        self._flush()
        if not self.count:
            raise UserError(f"{self.source} has no rows: a table of runs has one row per run")
        named = dict(zip(self.names, self.columns, strict=True))
        kept = {name: c.column() for name, c in named.items() if not c.dropped}
        unread = tuple(name for name, collector in named.items() if collector.dropped)
        digests = np.concatenate(self.digests)
        return Table(self.source, kept, self.count, digests, tuple(notes), unread)


class _Collector:
    """The cells of a column while rows are read."""

    def __init__(self, wanted: bool) -> None:
        self.most = math.inf if wanted else MOST_TEXTS
        self.numbers: list[np.ndarray] = []
        self.codes: list[np.ndarray] = []
        self.texts: dict[str, int] = {}
        self.dropped = False

    def add(self, cells: Sequence[Any]) -> None:
        """Add the cells of some rows."""
        if self.dropped:
            return
        numbers, codes = self._plain(cells) or self._mixed(cells)
        self.numbers.append(numbers)
        self.codes.append(codes)
        if len(self.texts) > self.most:
            self.dropped, self.numbers, self.codes, self.texts = True, [], [], {}

    def _plain(self, cells: Sequence[Any]) -> tuple[Numbers, Codes] | None:
        """Return the cells where all of them are numbers."""
        if any(isinstance(cell, bool) for cell in cells):
            return None
        try:
            numbers = np.array(list(map(float, cells)), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        return numbers, np.full(len(numbers), NUMBER, dtype=np.int32)

    def _mixed(self, cells: Sequence[Any]) -> tuple[Numbers, Codes]:
        numbers = np.full(len(cells), math.nan)
        codes = np.empty(len(cells), dtype=np.int32)
        parse = self._parser()
        for place, cell in enumerate(cells):
            codes[place], numbers[place] = parse(cell)
        return numbers, codes

    def _parser(self) -> Callable[[Any], tuple[int, float]]:
        texts = self.texts

        def parse(cell: Any) -> tuple[int, float]:
            if cell is None or cell == "":
                return EMPTY, math.nan
            if not isinstance(cell, bool):
                try:
                    number = float(cell)
                except (TypeError, ValueError, OverflowError):
                    pass
                else:
                    return NUMBER, number
            text = _text(cell)
            return texts.setdefault(text, len(texts)), math.nan

        return parse

    def column(self) -> Column:
        """Return the column."""
        return Column(np.concatenate(self.numbers), np.concatenate(self.codes), list(self.texts))


def _text(cell: Any) -> str:
    """Return a cell that is no number as a label."""
    if isinstance(cell, str):
        return TRUTH.get(cell.strip(), cell.strip())
    if isinstance(cell, bool):
        return str(cell).lower()
    return json.dumps(cell, sort_keys=True, default=str)
