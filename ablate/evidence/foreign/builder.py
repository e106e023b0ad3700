"""Build a table of foreign runs from rows, chunk by chunk."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign.table import (
    DIGITS,
    EMPTY,
    NUMBER,
    Cell,
    Codes,
    Column,
    Numbers,
    Row,
    Table,
    name_of_cell,
    number_of,
    plain,
    text_of,
)

CHUNK = 20_000  # number of rows that are converted to columns at a time
MOST_TEXTS = 20_000  # largest number of texts of a column that the caller did not ask for
RUN = "run"  # column with the name of a run
T = TypeVar("T")


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
    wanted: Iterable[str],
    names: Iterable[str],
    needed: str,
    notes: Iterable[str] = (),
    prefix: str = "config",
) -> Table:
    """Return a table with the rows of all runs, and the settings of its run in each row.

    A setting that has the name of another column gets a prefix. If an attribute of runs in `about`
    has the name of a metric, the column has the metric.

    Args:
        source: description of the source, for messages.
        logs: the runs.
        wanted: columns that are always kept, in addition to `run`. Other columns are dropped if
            they have too many different texts.
        names: columns of names, in addition to `run`.
        needed: what a source without results lacks and what to do, for the message.
        notes: remarks about the source that are shown with a verdict.
        prefix: the prefix of settings, without its dot.

    Raises:
        UserError: no run has results.
    """
    if not any(log.results for log in logs):
        raise UserError(f"{source} has no {needed}")
    metrics = {name for log in logs for row in log.results for name in row}

    def rows(log: RunLog) -> Iterator[Row]:
        taken = metrics | log.about.keys()
        settings = {
            f"{prefix}.{key}" if key in taken else key: value
            for key, value in flat(log.settings).items()
        }
        about = {key: value for key, value in log.about.items() if key not in metrics}
        return ({**settings, **row, **about} for row in log.results)

    records = chain.from_iterable(map(rows, logs))
    return from_records(source, records, [*wanted, RUN], [*names, RUN], notes)


def from_records(
    source: str,
    records: Iterable[Mapping[str, object]],
    wanted: Iterable[str] = (),
    names: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> Table:
    """Return a table with a row for each object; a missing key is an empty cell.

    Args:
        source: description of the source, for messages.
        records: one object per row, without nested objects.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.
        names: columns of names, whose cells are texts as they are written.
        notes: remarks about the source that are shown with a verdict.
    """
    pieces = (
        {name: [row.get(name) for row in piece] for name in dict.fromkeys(chain(*piece))}
        for piece in in_chunks(records)
    )
    return from_chunks(source, pieces, wanted, names, notes)


def in_chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield the rows in lists of at most `CHUNK` rows."""
    remaining = iter(rows)
    while piece := [*islice(remaining, CHUNK)]:
        yield piece


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


def from_chunks(
    source: str,
    pieces: Iterable[Mapping[str, Sequence[Any]]],
    wanted: Iterable[str] = (),
    names: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> Table:
    """Return a table of chunks of rows, which are given as lists of cells by column.

    Cells are texts, numbers, or None. A column that is missing in a chunk is empty in its rows.

    Args:
        source: description of the source, for messages.
        pieces: the chunks.
        wanted: columns that are always kept. Other columns are dropped if they have more than
            MOST_TEXTS different texts, such as run ids.
        names: columns of names, whose cells are texts as they are written.
        notes: remarks about the source that are shown with a verdict.

    Raises:
        UserError: there is no row.
    """
    kept, named, count = {*wanted}, {*names}, 0
    columns: dict[str, Collector] = {}
    digests: list[Codes] = []
    for piece in pieces:
        rows = len(next(iter(piece.values()), ()))
        for name in [name for name in piece if name not in columns]:
            most = math.inf if name in kept else MOST_TEXTS
            columns[name] = Collector(most, count, names=name in named)
        for name, collector in columns.items():
            collector.add(piece.get(name, [None] * rows))
        cells = [*piece.values()]
        if not all({*map(type, column)} <= {str} for column in cells):
            cells = [[*map(str, column)] for column in cells]
        digests.append(np.fromiter(map(hash, zip(*cells, strict=True)), np.int64, rows))
        count += rows
    if not count:
        raise UserError(f"{source} has no rows: a table needs at least one row per run")
    made = {name: column.column() for name, column in columns.items() if not column.dropped}
    return Table(source, made, count, np.concatenate(digests), tuple(notes))


class Collector:
    """A column of a table that is still being read: cells are added in chunks.

    Args:
        most: largest number of different texts. If the column has more, all its cells are dropped.
        empty: number of empty cells at the beginning of the column.
        names: whether the cells are names, that is, texts as they are written.
    """

    def __init__(self, most: float | int, empty: int, *, names: bool = False) -> None:
        self.most, self.names = most, names
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
        if self.names and kinds != {str}:
            cells = [*map(name_of_cell, cells)]
        elif not kinds <= {str, float, int}:
            cells = [*map(plain, cells)]
        numbers = None if self.names else _numbers(cells, kinds)
        if numbers is None:
            self._add_mixed(cells)
        else:
            self.numbers.append(numbers)
            self.codes.append(len(cells))
        if len(self.texts) > self.most:
            self.dropped, self.numbers, self.codes, self.texts = True, [], [], {}

    def _add_mixed(self, cells: Sequence[Cell]) -> None:
        """Add a chunk of cells that may include texts and empty cells; equal cells are parsed
        once.
        """
        numbers: dict[Cell, float] = {}
        codes: dict[Cell, int] = {}
        for cell in dict.fromkeys(cells):
            number = None if self.names else number_of(cell)
            if number is None:
                text = str(cell).strip() if self.names else text_of(str(cell))
                numbers[cell] = math.nan
                codes[cell] = self.texts.setdefault(text, len(self.texts)) if text else EMPTY
            else:
                numbers[cell], codes[cell] = number, NUMBER
        some = NUMBER in codes.values()
        parsed = np.fromiter(map(numbers.__getitem__, cells), np.float64, len(cells)) if some else 0
        self.numbers.append(parsed if some else len(cells))
        least = next(d for d in (np.int8, np.int16, np.int32) if len(self.texts) <= np.iinfo(d).max)
        self.codes.append(np.fromiter(map(codes.__getitem__, cells), least, len(cells)))

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


def _numbers(cells: Sequence[Cell], kinds: set[type]) -> Numbers | None:
    """Return the cells as numbers; None if a cell is a text, or must be parsed by `_number`."""
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except (ValueError, OverflowError):
        return None
    texts = map(str, cells) if str in kinds else ()
    doubtful = "_" in "".join(texts) or (np.abs(numbers) >= 10.0**DIGITS).any()
    return None if doubtful else numbers
