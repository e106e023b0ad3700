"""Make a data frame of the logs of runs, of a table or of a W&B project, with a run (or a step of a
run) in each row.
"""

import csv
import gzip
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ablate.errors import UserError, first_line

DELIMITERS = (",", "\t", ";")
RUN = "run"  # column with the name of a run
Row = dict[str, Any]  # the cells of a row, by column
JSON, PARQUET = (".jsonl", ".ndjson"), (".parquet", ".pq")
WANDB, STEP = "wandb://", "_step"


class Source(NamedTuple):
    """The runs of a source: its name for messages, a data frame, and remarks for the verdict."""

    name: str
    frame: pd.DataFrame
    notes: Sequence[str] = ()


class RunLog(NamedTuple):
    """The log of a run: values that identify it, such as its name; its config, which may be nested;
    and a row of metrics, or a row for each step.
    """

    about: Row
    settings: Row
    results: Sequence[Row]


def from_logs(
    source: str, logs: Sequence[RunLog], needed: str, notes: Sequence[str] = (), prefix: str = ""
) -> Source:
    """Return the rows of all runs; each row also contains the settings of the run.

    A setting that has the name of another column gets a prefix. If an entry of `RunLog.about` has
    the name of a metric, the column contains the metric.

    Raises:
        UserError: no run has results; `needed` says what the source lacks.
    """
    metrics = {name for log in logs for row in log.results for name in row}

    def rows(log: RunLog) -> Iterator[Row]:
        taken = metrics | log.about.keys()
        settings = {
            f"{prefix}.{key}" if key in taken else key: value
            for key, value in flatten(log.settings).items()
        }
        about = {key: value for key, value in log.about.items() if key not in metrics}
        return ({**settings, **_recorded(row), **about} for row in log.results)

    records = [row for log in logs for row in rows(log)]
    if not records:
        raise UserError(f"{source} has no {needed}")
    # objects, because a whole number would become a float beside an empty cell
    return Source(source, pd.DataFrame(records, dtype=object), notes)


def _recorded(row: Row) -> Row:
    """Return a row in which a recorded NaN is a text, because an empty cell is NaN, too."""
    return {k: "nan" if isinstance(x, float) and math.isnan(x) else x for k, x in row.items()}


def flatten(row: Mapping[str, object], prefix: str = "") -> Row:
    """Return nested objects as one object, such as {"a.b": 1} for {"a": {"b": 1}}; `prefix` is put
    before every key.
    """
    flattened: Row = {}
    for key, value in row.items():
        nested = isinstance(value, Mapping)
        flattened |= flatten(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}": value}  # type: ignore[arg-type]
    return flattened


def last_values(rows: Iterable[Row]) -> Row:
    """Return the last value of each column."""
    return {key: value for row in rows for key, value in row.items() if value != ""}


def path_columns(root: Path, folder: Path) -> Row:
    """Return the columns `run`, the path of the folder of a run within another folder, and
    `folder_1`, `folder_2`, ..., the names in this path.
    """
    inner = folder.relative_to(root)
    names = {f"folder_{k}": part for k, part in enumerate(inner.parts, 1)}
    return {RUN: inner.as_posix(), **names}


def check_names(source: str, names: list[str]) -> None:
    """Raise UserError if two columns have the same name: pandas would rename one of them."""
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UserError(f"{source} has two columns called {twice}: rename one of them")


def from_lines(path: Path, lines: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a CSV or TSV file, whose cells are texts. Blank lines do not count.

    Raises:
        UserError: two columns have the same name.
        ValueError: a row has more or fewer cells than the header, which pandas would accept.
        csv.Error: quotation marks do not surround a whole cell.
    """
    between = max(DELIMITERS, key=lines[0].count) if lines else ","
    # strict, because an unclosed quotation mark would otherwise hide all rows after it
    rows = csv.reader(lines, delimiter=between, skipinitialspace=True, strict=True)
    names = [name.strip() for name in next(rows, [])]
    check_names(str(path), names)
    cells = [row for row in rows if row]
    if wrong := next((k for k, row in enumerate(cells, 1) if len(row) != len(names)), 0):
        count = len(cells[wrong - 1])
        raise ValueError(f"row {wrong} has {count} cells, but the header has {len(names)}")
    return pd.DataFrame(cells, columns=names, dtype=object)


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose columns have texts as names; a named index becomes a column."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index(allow_duplicates=True)
    names = [".".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in frame.columns]
    check_names("the data frame", names)
    return frame.set_axis(names, axis=1).reset_index(drop=True)


def read_table(path: Path) -> pd.DataFrame:
    """Return the rows of a file, which may be compressed with gzip."""
    ending = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if ending in PARQUET:  # whole numbers stay whole in a column with empty cells
        return pd.read_parquet(path, dtype_backend="numpy_nullable")
    if ending not in (".csv", ".tsv", ".txt", *JSON):
        raise ValueError(f"the ending {ending} is unknown")
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        lines = [*file]
    return _objects(lines) if ending in JSON else from_lines(path, lines)


def _objects(lines: Sequence[str]) -> pd.DataFrame:
    """Return JSON objects, one per line, as rows; numbers are texts as they are written."""
    numbers: Any = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), str)
    rows = [flatten(json.loads(line, **numbers)) for line in lines if line.strip()]
    return pd.DataFrame(rows, dtype=object)


def read_project(place: str, columns: Collection[str]) -> Source:
    """Return the runs of a W&B project, by W&B's public API.

    Columns: `run` (the id), `name`, `group`, `job_type`, `state`, `_started`; the keys of the
    config; the keys of the summary or, per step, of the history. A key of the config that has the
    name of another column gets the prefix `config.`.

    Args:
        place: ENTITY/PROJECT, or ENTITY/PROJECT/GROUP.
        columns: columns that are needed. If `_step` is one of them, the table has a row per step.

    Raises:
        UserError: W&B does not have the project, needs a login, or the project has no runs.
    """
    import wandb

    entity, project, group = [*place.strip("/").split("/", 2), "", ""][:3]
    filters = {"group": group} if group else {}
    try:
        runs = wandb.Api().runs(f"{entity}/{project}", filters=filters)
        recorded = [_log(run, by_step=STEP in columns) for run in runs]
    except Exception as error:  # W&B's client has many kinds of errors
        raise UserError(f"wandb://{place} cannot be read: {first_line(error)}") from None
    needed = "runs with results: check the project and the group"
    return from_logs(f"wandb://{place}", recorded, needed, prefix="config")


def _log(run: Any, *, by_step: bool) -> RunLog:
    about = {"run": run.id, "name": run.name, "group": run.group, "job_type": run.job_type}
    about |= {"state": run.state, "_started": run.created_at}
    results = run.scan_history() if by_step else [dict(run.summary_metrics)]
    settings = {key: value for key, value in run.config.items() if not key.startswith("_wandb")}
    return RunLog(about, settings, [flatten(row) for row in results])
