"""Read a source of runs as a data frame: a file, a folder of logs, a W&B project, or a frame."""

import csv
import gzip
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ablate.errors import UserError, first_line
from ablate.evidence.foreign import logs

JSON, PARQUET = (".jsonl", ".ndjson"), (".parquet", ".pq")
WANDB, STEP = "wandb://", "_step"


def read(source: Any, wanted: Collection[str] = ()) -> logs.Source:
    """Return the runs of a source as a data frame, in which the names in files are texts as they
    are written.

    Args:
        source: a data frame; the path of a table, or of a folder with logs of TensorBoard or
            Lightning; or wandb://ENTITY/PROJECT.
        wanted: the columns that are needed, from which a reader of logs sees whether it must return
            a row for each step.

    Raises:
        UserError: the source does not exist or cannot be read.
    """
    if isinstance(source, pd.DataFrame):
        return logs.Source("the data frame", _with_index(source))
    try:
        return _read(str(source), wanted)
    except (ImportError, OSError, EOFError, ValueError, RecursionError, csv.Error) as error:
        raise UserError(f"{source} cannot be read: {first_line(error)}") from None


def _read(source: str, wanted: Collection[str]) -> logs.Source:
    if source.startswith(WANDB):
        return read_project(source.removeprefix(WANDB), wanted)
    path = Path(source).expanduser()
    if not path.is_dir():
        return logs.Source(str(path), _table(path))
    if logs.files_below(path, "metrics.csv"):
        from ablate.evidence.foreign.lightning import read_lightning

        return read_lightning(path, wanted)
    from ablate.evidence.foreign.tensorboard import read_tensorboard

    return read_tensorboard(path, wanted)


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose columns have texts as names; a named index becomes a column."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index(allow_duplicates=True)
    names = [".".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in frame.columns]
    logs.check_names("the data frame", names)
    return frame.set_axis(names, axis=1).reset_index(drop=True)


def _table(path: Path) -> pd.DataFrame:
    """Return the rows of a file, which may be compressed with gzip."""
    ending = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if ending in PARQUET:  # whole numbers stay whole in a column with empty cells
        return pd.read_parquet(path, dtype_backend="numpy_nullable")
    if ending not in (".csv", ".tsv", ".txt", *JSON):
        raise ValueError(f"the ending {ending} is unknown")
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        lines = [*file]
    return _objects(lines) if ending in JSON else logs.from_lines(path, lines)


def _objects(lines: Sequence[str]) -> pd.DataFrame:
    """Return JSON objects, one per line, as rows; numbers are texts as they are written."""
    numbers: Any = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), str)
    rows = [logs.flat(json.loads(line, **numbers)) for line in lines if line.strip()]
    return pd.DataFrame(rows, dtype=object)


def read_project(place: str, wanted: Collection[str]) -> logs.Source:
    """Return the runs of a W&B project, by W&B's public API.

    Columns: `run` (the id), `name`, `group`, `job_type`, `state`, `_started`; the keys of the
    config; the keys of the summary or, per step, of the history. A key of the config that has the
    name of another column gets the prefix `config.`.

    Args:
        place: ENTITY/PROJECT, or ENTITY/PROJECT/GROUP.
        wanted: columns that are needed. If `_step` is one of them, the table has a row per step.

    Raises:
        UserError: W&B does not have the project, needs a login, or the project has no runs.
    """
    import wandb

    entity, project, group = [*place.strip("/").split("/", 2), "", ""][:3]
    filters = {"group": group} if group else {}
    try:
        runs = wandb.Api().runs(f"{entity}/{project}", filters=filters)
        recorded = [_log(run, by_step=STEP in wanted) for run in runs]
    except Exception as error:  # W&B's client has many kinds of errors
        raise UserError(f"wandb://{place} cannot be read: {first_line(error)}") from None
    needed = "runs with results: check the project and the group"
    return logs.from_logs(f"wandb://{place}", recorded, needed, prefix="config")


def _log(run: Any, *, by_step: bool) -> logs.RunLog:
    about = {"run": run.id, "name": run.name, "group": run.group, "job_type": run.job_type}
    about |= {"state": run.state, "_started": run.created_at}
    results = run.scan_history() if by_step else [dict(run.summary_metrics)]
    settings = {key: value for key, value in run.config.items() if not key.startswith("_wandb")}
    return logs.RunLog(about, settings, [logs.flat(row) for row in results])
