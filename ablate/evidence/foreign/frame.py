"""Read results of runs from a pandas data frame, or from any object with its interface."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign.table import (
    DIGITS,
    EMPTY,
    MOST_TEXTS,
    NUMBER,
    Collector,
    Column,
    Table,
)


def is_frame(value: Any) -> bool:
    """Return whether a value has the interface of a pandas data frame."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def read(frame: Any, wanted: Iterable[str] = ()) -> Table:
    """Return the rows of a data frame as a table; a named index becomes a column.

    Raises:
        UserError: the frame has no rows, or two columns have the same name.
    """
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [_name(name) for name in frame.columns]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"the data frame has two columns called {twice}: rename one of them")
    wanted = {*wanted}
    if not len(frame):
        raise UserError("the data frame has no rows: a table of runs has one row per run")
    columns = {name: _column(frame.iloc[:, place]) for place, name in enumerate(names)}
    kept = {n: c for n, c in columns.items() if n in wanted or len(c.texts) <= MOST_TEXTS}
    return Table("the data frame", kept, len(frame), _digests(frame))


def _name(name: Any) -> str:
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _column(series: Any) -> Column:
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
        numbers = series.to_numpy(dtype=np.float64)
        if not (np.abs(numbers) >= 10.0**DIGITS).any():
            return Column(numbers, np.where(np.isnan(numbers), EMPTY, NUMBER).astype(np.int8), [])
    collector = Collector()
    collector.add(series.astype(object).where(series.notna(), None).tolist())
    return collector.column()


def _digests(frame: Any) -> np.ndarray:
    """Return a hash of each row; equal rows have equal hashes."""
    from pandas.util import hash_pandas_object

    try:
        hashes = hash_pandas_object(frame, index=False)
    except TypeError:  # cells such as lists
        hashes = hash_pandas_object(frame.astype(str), index=False)
    return np.asarray(hashes).view(np.int64)
