"""Read results of runs from a pandas data frame, or from any object with its interface."""

from collections.abc import Iterable, Iterator
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.builder import CHUNK, from_chunks
from ablate.evidence.foreign.table import Table


def is_frame(value: Any) -> bool:
    """Return whether a value has the interface of a pandas data frame."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def read(frame: Any, wanted: Iterable[str] = (), names: Iterable[str] = ()) -> Table:
    """Return the rows of a data frame as a table; a named index becomes a column.

    Raises:
        UserError: the frame has no rows, or two columns have the same name.
    """
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index(allow_duplicates=True)
    columns = [_name(name) for name in frame.columns]
    if len({*columns}) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise UserError(
            f"the data frame has two columns called {twice} (a named index is a column, too): "
            "rename or drop one of them"
        )
    if not len(frame):
        raise UserError("the data frame has no rows: a table of runs has one row per run")
    return from_chunks("the data frame", _pieces(frame, columns), wanted, names)


def _pieces(frame: Any, names: list[str]) -> Iterator[dict[str, list[Any]]]:
    """Yield chunks of rows as the cells of each column."""
    for start in range(0, len(frame), CHUNK):
        piece = frame.iloc[start : start + CHUNK].astype(object)
        piece = piece.where(piece.notna(), None)
        yield {name: piece.iloc[:, k].tolist() for k, name in enumerate(names)}


def _name(name: Any) -> str:
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)
