"""Store a table of foreign runs, that is, runs that were not made by this package, by columns.

The modules that read such runs from files return such a table.

A column stores numbers as an array and texts as integer codes, so that a million rows stay small. A
column of texts alone has no array of numbers, and a column of numbers alone has no array of codes.
A column whose texts nearly all differ, such as run ids, is kept only if the caller asks for the
column.
"""

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ablate.errors import UserError

NUMBER, EMPTY = -1, -2  # codes of cells without a text
MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "-"))  # texts for a missing number
CHUNK = 20_000  # number of rows that are converted to columns at a time
MOST_TEXTS = 20_000  # largest number of texts of a column that the caller did not ask for
TRUTH = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}
DIGITS = 15  # digits that a float represents exactly; a longer number is read as a name
INTEGER = re.compile(r"[+-]?\d+")

Numbers = Float[np.ndarray, " rows"]
Codes = Int[np.ndarray, " rows"]
Rows = Bool[np.ndarray, " rows"]
Cell = str | float | int
Row = dict[str, Any]  # the cells of a row, by column


@dataclass(frozen=True)
class Column:
    """A column of a table: for each row a number, a text, or nothing.

    Args:
        numbers: the number in each cell; NaN for a cell without a number.
        codes: for each row an index into `texts`, or `NUMBER` or `EMPTY`. A cell with the text
            "nan" is a number. The dtype is as small as the number of texts permits.
        texts: the different texts.
    """

    numbers: Numbers
    codes: Codes
    texts: list[str]

    def take(self, rows: np.ndarray) -> "Column":
        """Return the column with some of its rows; `rows` is a mask or row numbers."""
        return Column(self.numbers[rows], self.codes[rows], self.texts)

    def constant(self, rows: np.ndarray) -> str | None:
        """Return the text that all given rows have; "" if all are empty, None if they differ or if
        there are no rows.

        A number is returned as text, such as "3".
        """
        codes, numbers = self.codes[rows], self.numbers[rows]
        if not len(codes) or (codes != codes[0]).any():
            return None
        if codes[0] >= 0:
            return self.texts[codes[0]]
        if codes[0] == EMPTY:
            return ""
        return number_text(float(numbers[0])) if (numbers == numbers[0]).all() else None

    def with_long_integers(self) -> "Column":
        """Return the column with integers of more than `DIGITS` digits as numbers, not as names."""
        if not any(map(INTEGER.fullmatch, self.texts)):
            return self
        values = np.array([float(t) if INTEGER.fullmatch(t) else math.nan for t in self.texts])
        integers = (self.codes >= 0) & np.isfinite(values)[self.codes]
        numbers = np.where(integers, values[self.codes], self.numbers)
        return Column(
            numbers, np.where(integers, self.codes.dtype.type(NUMBER), self.codes), self.texts
        )

    def first_text(self) -> tuple[int, str] | None:
        """Return the row number and the text of the first cell that is neither a number nor
        empty.
        """
        wrong = [code for code, text in enumerate(self.texts) if text.lower() not in MISSING]
        rows = np.flatnonzero(np.isin(self.codes, wrong)) if wrong else np.empty(0, int)
        return (int(rows[0]), self.texts[self.codes[rows[0]]]) if len(rows) else None

    def labels(self) -> tuple[Codes, list[str]]:
        """Return for each cell an index into a list of labels, and this list.

        The label of a cell is its text, or its number as text. Empty cells have the index -1.
        """
        places = np.maximum(self.codes, -1, dtype=np.int32)
        named = list(self.texts)
        numeric = self.codes == NUMBER
        if numeric.any():
            values, inverse = np.unique(self.numbers[numeric], return_inverse=True)
            places[numeric] = inverse + len(named)
            named += [number_text(float(value)) for value in values]
        used = np.flatnonzero(np.bincount(places[places >= 0], minlength=len(named)))
        order = np.full(len(named) + 1, -1, dtype=np.int32)
        order[used] = np.arange(len(used))
        return order[places], [named[place] for place in used]


@dataclass(frozen=True)
class Table:
    """A table with a run (or a step of a run) in each row.

    Args:
        source: description of the source, for messages and reports.
        columns: columns by name.
        rows: number of rows.
        digests: hash of each row; empty if the source has none.
        notes: remarks about the source that are shown with a verdict.
        places: the number of each row in the source; None if the table has all rows.
    """

    source: str
    columns: dict[str, Column]
    rows: int
    digests: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    notes: tuple[str, ...] = ()
    places: Codes | None = None

    def column(self, name: str, key: str) -> Column:
        """Return the column that is called `name`.

        Args:
            name: name of the column.
            key: the config key that names the column, for the message.

        Raises:
            UserError: the table has no such column.
        """
        if name not in self.columns:
            names = [*self.columns]
            raise UserError(f"{key}={name}: {self.source} has no such column; {meant(name, names)}")
        return self.columns[name]

    def numbers(self, name: str, key: str) -> Numbers:
        """Return the numbers of a column, with NaN for empty cells; integers may have any length.

        Args:
            name: name of the column.
            key: the config key that names the column, for the message.

        Raises:
            UserError: the table has no such column, or a cell is a text.
        """
        column = self.column(name, key).with_long_integers()
        if (text := column.first_text()) is not None:
            row, cell = text
            row = row if self.places is None else int(self.places[row])
            raise UserError(
                f"{key}={name}: {self.source} has the text {cell!r} in row {row + 1}, where it "
                "needs a number such as 1234.5; empty cells, NaN and inf are allowed"
            )
        return column.numbers

    def take(self, rows: np.ndarray) -> "Table":
        """Return a table of some rows; `rows` is a mask or row numbers."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        digests = self.digests[rows] if len(self.digests) else self.digests
        count = int(rows.sum()) if rows.dtype == bool else len(rows)
        places = (np.arange(self.rows) if self.places is None else self.places)[rows]
        return Table(self.source, columns, count, digests, self.notes, places)


def number_text(number: float) -> str:
    """Return a number as text: "3" for 3.0, else the shortest text that parses to the same
    number.
    """
    if math.isfinite(number) and number == int(number) and abs(number) < 1e15:
        return str(int(number))
    return repr(number)


def label_of(given: Any) -> str:
    """Return the text by which a column represents a value that a user gives, such as "3" for
    3.0.
    """
    cell = _plain(given)
    number = _number(cell)
    return _text(str(cell)) if number is None else number_text(number)


def meant(word: str, names: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: a similar name, or the allowed names."""
    by_case = [name for name in names if name.lower() == word.lower()]
    near = by_case or difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]}?"
    shown = ", ".join(islice(names, 12))
    return f"there are {shown}{', ...' if len(names) > 12 else ''}"


class TableBuilder:
    """Builds a table from chunks of rows.

    Args:
        source: description of the source, for messages.
        wanted: columns that are always kept. Other columns are dropped if they have more than
            MOST_TEXTS different texts, such as run ids.
    """

    def __init__(self, source: str, wanted: Iterable[str] = ()) -> None:
        self.source = source
        self.wanted = {*wanted}
        self.columns: dict[str, Collector] = {}
        self.digests: list[Codes] = []
        self.count = 0

    def add(self, piece: Mapping[str, Sequence[Any]]) -> None:
        """Add a chunk of rows, given as lists of cells by column.

        Cells are texts, numbers, or None. A column that is missing in a chunk is empty in its rows.
        """
        rows = len(next(iter(piece.values()), ()))
        for name in [name for name in piece if name not in self.columns]:
            most = math.inf if name in self.wanted else MOST_TEXTS
            self.columns[name] = Collector(most, self.count)
        for name, collector in self.columns.items():
            collector.add(piece.get(name, [None] * rows))
        cells = [*piece.values()]
        if not all({*map(type, column)} <= {str} for column in cells):
            cells = [[*map(str, column)] for column in cells]
        self.digests.append(np.fromiter(map(hash, zip(*cells, strict=True)), np.int64, rows))
        self.count += rows

    def add_records(self, records: Iterable[Mapping[str, object]]) -> None:
        """Add rows that are given as objects; a missing key is an empty cell."""
        rows = iter(records)
        while piece := [*islice(rows, CHUNK)]:
            names = dict.fromkeys(name for row in piece for name in row)
            self.add({name: [row.get(name) for row in piece] for name in names})

    def table(self, notes: Iterable[str] = ()) -> Table:
        """Return a table of all rows that were added.

        Args:
            notes: remarks about the source that are shown with a verdict.

        Raises:
            UserError: no row was added.
        """
        if not self.count:
            raise UserError(f"{self.source} has no rows: a table needs at least one row per run")
        kept = {name: c.column() for name, c in self.columns.items() if not c.dropped}
        digests = np.concatenate(self.digests)
        return Table(self.source, kept, self.count, digests, tuple(notes))


class Collector:
    """A column of a table that is still being read: cells are added in chunks.

    Args:
        most: largest number of different texts. If the column has more, all its cells are dropped.
        empty: number of empty cells at the beginning of the column.
    """

    def __init__(self, most: float | int = math.inf, empty: int = 0) -> None:
        self.most = most
        # by chunk; a chunk without numbers, or with numbers only, is stored as its length
        self.numbers: list[Numbers | int] = []
        self.codes: list[Codes | int] = []
        self.texts: dict[str, int] = {}
        self.dropped = False
        if empty:
            self.add([None] * empty)

    def add(self, cells: Sequence[Any]) -> None:
        """Add the cells of some rows to the end of the column."""
        if self.dropped:
            return
        kinds = {*map(type, cells)}
        if not kinds <= {str, float, int}:
            cells = [*map(_plain, cells)]
        numbers = _numbers(cells, kinds)
        if numbers is None:
            self._add_mixed(cells)
        else:
            self.numbers.append(numbers)
            self.codes.append(len(cells))
        if len(self.texts) > self.most:
            self.dropped, self.numbers, self.codes, self.texts = True, [], [], {}

    def _add_mixed(self, cells: Sequence[Cell]) -> None:
        """Add a chunk of cells that may include texts and empty cells; parse equal cells once."""
        numbers: dict[Cell, float] = {}
        codes: dict[Cell, int] = {}
        for cell in dict.fromkeys(cells):
            number = _number(cell)
            numbers[cell] = math.nan if number is None else number
            codes[cell] = NUMBER if number is not None else self._code(str(cell))
        some = NUMBER in codes.values()
        parsed = np.fromiter(map(numbers.__getitem__, cells), np.float64, len(cells)) if some else 0
        self.numbers.append(parsed if some else len(cells))
        least = next(d for d in (np.int8, np.int16, np.int32) if len(self.texts) <= np.iinfo(d).max)
        self.codes.append(np.fromiter(map(codes.__getitem__, cells), least, len(cells)))

    def _code(self, cell: str) -> int:
        text = _text(cell)
        return self.texts.setdefault(text, len(self.texts)) if text else EMPTY

    def column(self) -> Column:
        """Return the column of all added cells, and free the memory of the chunks."""
        numbers, codes = _joined(self.numbers, math.nan), _joined(self.codes, np.int8(NUMBER))
        self.numbers, self.codes = [], []
        return Column(numbers, codes, list(self.texts))


def _joined(pieces: Sequence[np.ndarray | int], value: Any) -> np.ndarray:
    """Concatenate chunks of a column; a chunk that is an integer n stands for n times `value`.

    If all chunks are integers, the array takes the memory of a single value.
    """
    if all(isinstance(piece, int) for piece in pieces):
        return np.broadcast_to(value, sum(int(piece) for piece in pieces))
    return np.concatenate([np.full(p, value) if isinstance(p, int) else p for p in pieces])


def _text(cell: str) -> str:
    return TRUTH.get(cell.strip(), cell.strip())


def _plain(cell: Any) -> Cell:
    """Return a cell as a text or a number; None becomes ""."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, Cell):
        return cell
    if isinstance(cell, Mapping | list | tuple):
        return json.dumps(cell, sort_keys=True, default=str)
    try:
        return float(cell)
    except (TypeError, ValueError):
        return str(cell)


def _numbers(cells: Sequence[Cell], kinds: set[type]) -> Numbers | None:
    """Return the cells as numbers; None if a cell is a text, or must be parsed by `_number`."""
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except (ValueError, OverflowError):
        return None
    texts = map(str, cells) if str in kinds else ()
    doubtful = "_" in "".join(texts) or (np.abs(numbers) >= 10.0**DIGITS).any()
    return None if doubtful else numbers


def _number(cell: Cell) -> float | None:
    """Return the number of a cell, or None for a text.

    Names such as 1_2, long ids, and commits such as 12e4567, which float reads as inf, are texts.
    """
    digits = str(cell).strip().lstrip("+-")
    if "_" in digits or (digits.isdigit() and len(digits) > DIGITS):
        return None
    try:
        number = float(cell)
    except (ValueError, OverflowError):
        return None
    return None if math.isinf(number) and digits[0].isdigit() else number
