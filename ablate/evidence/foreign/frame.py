"""Runs of a pandas data frame, or of any object with its interface."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign.table import (
    EMPTY,
    MOST_TEXTS,
    NUMBER,
    Column,
    Table,
    TableBuilder,
)


def is_frame(value: Any) -> bool:
    """Return whether a value is a data frame."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def read(frame: Any, wanted: Iterable[str] = ()) -> Table:
    """Return the rows of a frame; a named index becomes a column.

    Raises:
        UserError: it has no rows, or two columns of one name.
    """
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [_name(name) for name in frame.columns]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"the data frame has two columns called {twice}: rename one of them")
    if not len(frame):
        raise UserError("the data frame has no rows: a table of runs has one row per run")
    columns = {name: _column(frame.iloc[:, place]) for place, name in enumerate(names)}
    kept = {n: c for n, c in columns.items() if n in {*wanted} or len(c.texts) <= MOST_TEXTS}
    unread = tuple(name for name in names if name not in kept)
    return Table("the data frame", kept, len(frame), _digests(kept), unread=unread)


def _name(name: Any) -> str:
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _column(series: Any) -> Column:
    if series.dtype.kind in "iuf" and isinstance(series.dtype, np.dtype):
        numbers = series.to_numpy(dtype=np.float64)
        return Column(numbers, np.where(np.isnan(numbers), EMPTY, NUMBER).astype(np.int32), [])
    builder = TableBuilder("the data frame", ["cell"], ["cell"])
    for missing, cell in zip(series.isna(), series, strict=True):
        builder.add([None if missing else cell])
    return builder.table().columns["cell"]


def _digests(columns: dict[str, Column]) -> np.ndarray:
    """Return a number per row that equal rows share."""
    mixed = np.zeros(len(next(iter(columns.values())).codes), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns.values():
            for part in (column.numbers.view(np.uint64), column.codes.astype(np.uint64)):
                mixed = (mixed ^ part) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
    return mixed.view(np.int64)
