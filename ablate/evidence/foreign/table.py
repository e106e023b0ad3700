"""Store a table of foreign runs, that is, runs that were not made by this package, by columns.

The modules that read such runs from files return such a table.

A column stores numbers as an array and texts as integer codes, so that a million rows stay small. A
column of texts alone has no array of numbers, and a column of numbers alone has no array of codes.
A column whose texts nearly all differ, such as run ids, is kept only if the caller asks for the
column. A column of names, such as arms or seeds, has the texts of the source, so that 0012 and 12,
or 1 and 1.0, are different names.
"""

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from numbers import Number
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ablate.errors import UserError
from ablate.phrases import listed

NUMBER, EMPTY = -1, -2  # codes of cells without a text
MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "-"))  # texts for a missing number
TRUTH = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}
DIGITS = 15  # digits that a float represents exactly; a longer number is read as a name
MOST_MEANT = 3  # largest number of names that a message suggests
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

    def with_numbers(self) -> "Column":
        """Return the column with all texts as numbers that are numbers."""
        parsed = [float(t) if INTEGER.fullmatch(t) else number_of(t) for t in self.texts]
        if not any(number is not None for number in parsed):
            return self
        values = np.array([math.nan if number is None else number for number in parsed])
        are_numbers = np.array([number is not None for number in parsed])
        chosen = (self.codes >= 0) & are_numbers[self.codes]
        numbers = np.where(chosen, values[self.codes], self.numbers)
        codes = np.where(chosen, self.codes.dtype.type(NUMBER), self.codes)
        return Column(numbers, codes, self.texts)

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
        column = self.column(name, key).with_numbers()
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
    """Return the text by which a column of values represents a value, such as "3" for 3.0 and for
    "3.0".
    """
    cell = plain(given)
    number = number_of(cell)
    return text_of(str(cell)) if number is None else number_text(number)


def name_of_cell(cell: Any) -> str:
    """Return a cell of a column of names as text: a text as it is written, without spaces around
    it, and a number as Python writes it.
    """
    is_number = isinstance(cell, Number) and not isinstance(cell, bool)
    return str(cell if is_number else plain(cell)).strip()


def labels_meant(given: Any, labels: Sequence[str]) -> list[str]:
    """Return the labels of a column that a value of a user may mean; [] if there is none.

    A text or a whole number means the label that is written alike. If there is none, the value
    means a label of the same number, such as "0012" for 12. So does a decimal number, which may
    have been written in several ways.
    """
    exact = name_of_cell(given)
    if exact in labels and not isinstance(given, bool | float):
        return [exact]
    number = label_of(given)
    return [label for label in labels if label_of(label) == number]


def twins(name: str, labels: Iterable[str]) -> Iterable[str]:
    """Yield a sentence for each number that several labels of a column of names mean."""
    by_number: dict[str, list[str]] = {}
    for label in labels:
        by_number.setdefault(label_of(label), []).append(label)
    for alike in by_number.values():
        if len(alike) > 1:
            yield f"{name}: {listed(sorted(alike))} are one value, but different names here."


def meant(word: str, names: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: a similar name, or the allowed names."""
    by_case = [name for name in names if name.lower() == word.lower()][:1]
    by_end = [name for name in names if name.endswith(f"/{word}")]
    near = by_case or by_end or difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near[:MOST_MEANT])}?"
    shown = ", ".join(islice(names, 12))
    return f"there are {shown}{', ...' if len(names) > 12 else ''}"


def text_of(cell: str) -> str:
    """Return the text of a cell without spaces around it; truth values are in lower case."""
    return TRUTH.get(cell.strip(), cell.strip())


def plain(cell: Any) -> Cell:
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


def number_of(cell: Cell) -> float | None:
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
