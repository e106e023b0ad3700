"""Build a table of foreign runs from rows, chunk by chunk."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign.table import (
    DIGITS,
    EMPTY,
    NUMBER,
    PADDED,
    Cell,
    Codes,
    Column,
    Numbers,
    Row,
    Table,
    number_of,
    plain,
    text_of,
)

CHUNK = 20_000  # number of rows that are converted to columns at a time
MOST_TEXTS = 20_000  # largest number of texts of a column that the caller did not ask for
MOST_SPELLINGS = 1_000  # largest number of different cells of a column that may contain names


class RunLog(NamedTuple):
    """What the log of a run contains, for `from_runs`.

    Args:
        about: values that identify the run, such as its name.
        settings: the config of the run, which may be nested.
        results: a row of metrics, or a row for each step.
    """

    about: Row
    settings: Row
    results: Sequence[Row]


def from_runs(
    source: str,
    logs: Sequence[RunLog],
    wanted: Iterable[str] = (),
    notes: Iterable[str] = (),
    prefix: str = "config",
) -> Table:
    """Return a table with the rows of all runs, and the settings of its run in each row.

    A setting that has the name of another column gets a prefix. If an attribute of runs in `about`
    has the name of a metric, the column has the metric.

    Args:
        source: description of the source, for messages.
        logs: the runs.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.
        notes: remarks about the source that are shown with a verdict.
        prefix: the prefix of settings, without its dot.
    """
    metrics = {name for log in logs for row in log.results for name in row}

    def rows(log: RunLog) -> Iterator[Row]:
        taken = metrics | log.about.keys()
        settings = {
            f"{prefix}.{key}" if key in taken else key: value
            for key, value in flat(log.settings).items()
        }
        about = {key: value for key, value in log.about.items() if key not in metrics}
        return ({**settings, **row, **about} for row in log.results)

    return from_records(source, chain.from_iterable(map(rows, logs)), wanted, notes)


def from_records(
    source: str,
    records: Iterable[Mapping[str, object]],
    wanted: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> Table:
    """Return a table with a row for each object; a missing key is an empty cell.

    Args:
        source: description of the source, for messages.
        records: one object per row, without nested objects.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.
        notes: remarks about the source that are shown with a verdict.
    """
    builder = TableBuilder(source, wanted)
    builder.add_records(records)
    return builder.table(notes)


def flat(row: Mapping[str, object], before: str = "") -> dict[str, object]:
    """Return nested objects as one object, such as {"a.b": 1} for {"a": {"b": 1}}.

    Args:
        row: the nested objects.
        before: prefix of all keys.
    """
    flattened: dict[str, object] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flattened |= flat(value, f"{before}{key}.")
        else:
            flattened[f"{before}{key}"] = value
    return flattened


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
        # number of each different cell, and these numbers by chunk; empty if there are too many
        self.spellings: dict[Cell, int] = {}
        self.spelled: list[Codes] = []
        self.has_names = True
        self.dropped = False
        if empty:
            self.add([None] * empty)

    def add(self, cells: Sequence[Any]) -> None:
        """Add the cells of some rows to the end of the column."""
        if self.dropped:
            return
        kinds = {*map(type, cells)}
        if not kinds <= {str, float, int}:
            cells = [*map(plain, cells)]
        numbers = _numbers(cells, kinds)
        if numbers is None:
            self._add_mixed(cells)
        else:
            self.numbers.append(numbers)
            self.codes.append(len(cells))
        if self.has_names:
            self._add_spellings(cells)
        if len(self.texts) > self.most:
            self.dropped, self.numbers, self.codes, self.texts = True, [], [], {}

    def _add_mixed(self, cells: Sequence[Cell]) -> None:
        """Add a chunk of cells that may include texts and empty cells; parse equal cells once."""
        numbers: dict[Cell, float] = {}
        codes: dict[Cell, int] = {}
        for cell in dict.fromkeys(cells):
            number = number_of(cell)
            numbers[cell] = math.nan if number is None else number
            codes[cell] = NUMBER if number is not None else self._code(str(cell))
        some = NUMBER in codes.values()
        parsed = np.fromiter(map(numbers.__getitem__, cells), np.float64, len(cells)) if some else 0
        self.numbers.append(parsed if some else len(cells))
        least = next(d for d in (np.int8, np.int16, np.int32) if len(self.texts) <= np.iinfo(d).max)
        self.codes.append(np.fromiter(map(codes.__getitem__, cells), least, len(cells)))

    def _add_spellings(self, cells: Sequence[Cell]) -> None:
        """Record how each cell is written, unless the column has too many different cells."""
        for cell in dict.fromkeys(cells):
            if cell not in self.spellings:
                self.spellings[cell] = len(self.spellings)
        if len(self.spellings) > MOST_SPELLINGS:
            self.has_names, self.spellings, self.spelled = False, {}, []
        else:
            places = map(self.spellings.__getitem__, cells)
            self.spelled.append(np.fromiter(places, np.int16, len(cells)))

    def _code(self, cell: str) -> int:
        text = text_of(cell)
        return self.texts.setdefault(text, len(self.texts)) if text else EMPTY

    def column(self) -> Column:
        """Return the column of all added cells, and free the memory of the chunks."""
        numbers, codes = _joined(self.numbers, math.nan), _joined(self.codes, np.int8(NUMBER))
        self.numbers, self.codes = [], []
        column = Column(numbers, codes, list(self.texts))
        return replace(column, names=self._names(column))

    def _names(self, column: Column) -> Column | None:
        """Return the column with texts such as 1.10 in place of numbers that are also written in
        another way, such as 1.1; None if there are none.
        """
        by_number: dict[float, dict[str, list[int]]] = {}
        for cell, place in self.spellings.items():
            if (number := number_of(cell)) is not None:
                by_number.setdefault(number, {}).setdefault(str(cell).strip(), []).append(place)
        texts = list(column.texts)
        codes = np.full(len(self.spellings), NUMBER)
        for by_text in by_number.values():
            for text in [t for t in by_text if len(by_text) > 1 and PADDED.fullmatch(t)]:
                codes[by_text[text]] = len(texts)
                texts.append(text)
        if len(texts) == len(column.texts):
            return None
        codes = codes[np.concatenate(self.spelled)]
        numbers = np.where(codes < 0, column.numbers, math.nan)
        return Column(numbers, np.where(codes < 0, column.codes, codes), texts)


def _joined(pieces: Sequence[np.ndarray | int], value: Any) -> np.ndarray:
    """Concatenate chunks of a column; a chunk that is an integer n stands for n times `value`.

    If all chunks are integers, the array takes the memory of a single value.
    """
    if all(isinstance(piece, int) for piece in pieces):
        return np.broadcast_to(value, sum(int(piece) for piece in pieces))
    return np.concatenate([np.full(p, value) if isinstance(p, int) else p for p in pieces])


def _numbers(cells: Sequence[Cell], kinds: set[type]) -> Numbers | None:
    """Return the cells as numbers; None if a cell is a text, or must be parsed by `_number`."""
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except (ValueError, OverflowError):
        return None
    texts = map(str, cells) if str in kinds else ()
    doubtful = "_" in "".join(texts) or (np.abs(numbers) >= 10.0**DIGITS).any()
    return None if doubtful else numbers
