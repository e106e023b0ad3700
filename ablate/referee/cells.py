"""Read the cells of a data frame of runs: as names, which are texts as they are written, or as
numbers.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from ablate.errors import UserError, first_line, likely

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "-"))  # texts for a missing number
Numbers = Float[np.ndarray, " rows"]
Rows = Bool[np.ndarray, " rows"]


def texts(frame: pd.DataFrame, column: str) -> pd.Series:
    """Return the cells of a column as names.

    Raises:
        UserError: the frame has no such column.
    """
    if column not in frame:
        raise UserError(f"the runs have no column {column}: {likely(column, [*frame.columns])}")
    return frame[column].astype(object).map(name_of)


def name_of(cell: Any) -> str:
    """Return a cell as a name: a text without spaces around it, or a number as Python writes it;
    "" for an empty cell.
    """
    if isinstance(cell, str):  # most cells; millions are fast
        return cell.strip()
    if cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return str(cell).lower() if isinstance(cell, bool | np.bool_) else str(cell).strip()


def numbers(frame: pd.DataFrame, column: str) -> Numbers:
    """Return the numbers of a column, with NaN for an empty cell.

    Raises:
        UserError: the frame has no such column, or a cell is a text.
    """
    cells = texts(frame, column)
    try:
        return np.array([float("nan" if c.lower() in MISSING else c) for c in cells], np.float64)
    except ValueError as error:
        raise UserError(f"{column}: {first_line(error)}") from None


def number_of(text: str) -> float:
    """Return the number that a text means; NaN if it means none."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def alike(labels: Iterable[str], value: Any) -> list[str]:
    """Return the names that a value of a user may mean; [] if there is none.

    A text or a whole number means the name that is written alike. If there is none, the value means
    the names of the same number, such as "0012" for 12. So does a decimal number, which may have
    been written in several ways.
    """
    labels, name = [*labels], name_of(value)
    if isinstance(value, bool):
        return [label for label in labels if label.lower() == name]
    if name in labels and not isinstance(value, float):
        return [name]
    return [label for label in labels if number_of(label) == number_of(name)]


def rows_with(
    frame: pd.DataFrame, levels: Mapping[str, object], key: str, *, required: bool = True
) -> Rows:
    """Return a mask of the rows that have given values.

    Args:
        frame: the rows.
        levels: for each column, a value or a list of allowed values.
        key: key of the question that has these values, for the message.
        required: whether a value that no row has is an error.

    Raises:
        UserError: there is no such column, or no row has a value.
    """
    rows = np.ones(len(frame), dtype=bool)
    for column, wanted in levels.items():
        cells = texts(frame, column)
        allowed = []
        for value in wanted if isinstance(wanted, list) else [wanted]:
            names = alike(cells.unique(), value)
            if required and not names:
                raise UserError(f"{key}: no row has {column}={value}")
            allowed += names
        rows &= cells.isin(allowed).to_numpy()
    return rows
