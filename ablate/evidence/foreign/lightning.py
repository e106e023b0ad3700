"""Read the runs of Lightning's CSVLogger; every folder with a metrics.csv is a run.

Columns: `run`, the path of the run's folder below the given folder; `folder_1`, `folder_2`, ... the
names in this path; the hyperparameters in hparams.yaml of the same folder; and the columns of
metrics.csv. Without the column `step`, a run is a row with the last value of each metric. If the
study asks for the column `step`, each row of metrics.csv is a row, with empty cells at steps
without a metric. A hyperparameter that has the name of another column gets the prefix `hparams.`.
The folders of a resumed run are one run (ablate.evidence.foreign.resumed).
"""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.builder import RunLog, from_runs
from ablate.evidence.foreign.delimited import whole_rows
from ablate.evidence.foreign.reading import files_below, folder_of, named, path_columns, read_yaml
from ablate.evidence.foreign.resumed import SETTINGS, join_resumed
from ablate.evidence.foreign.table import Row, Table

METRICS, STEP = "metrics.csv", "step"


def read(place: Any, wanted: Iterable[str] = (), names: Iterable[str] = ()) -> Table:
    """Return the runs below a folder: a row per run, or per step if the column `step` is wanted.

    Args:
        place: path of the folder.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.
        names: columns of names, whose cells are texts as they are written.

    Raises:
        UserError: the folder does not exist, or has no metrics.csv with rows.
    """
    root = folder_of(place, "runs of Lightning")
    by_step = STEP in {*wanted}
    logs: list[RunLog] = []
    notes: list[str] = []
    for path in files_below(root, METRICS):
        about, settings = path_columns(root, path.parent), _settings(path.with_name(SETTINGS))
        logs.append(RunLog(about, settings, _rows(path, notes)))
    logs = join_resumed(root, logs, STEP, notes)
    if not by_step:
        logs = [log._replace(results=[_last(log.results)]) for log in logs]
    needed = f"{METRICS} with rows: give the folder of Lightning's CSVLogger"
    return from_runs(str(root), logs, wanted, names, needed, notes, "hparams")


def _last(rows: Iterable[Row]) -> Row:
    """Return the last value of each column."""
    return {key: value for row in rows for key, value in row.items() if value != ""}


def _rows(path: Path, notes: list[str]) -> list[dict[str, str]]:
    """Return the rows of a file, without an incomplete last row, which a killed process may leave.

    Raises:
        UserError: the file cannot be read, or another row has more or fewer cells than the header.
    """
    try:
        with named(path), path.open(encoding="utf-8-sig", newline="") as file:
            lines = file.readlines()
        names, *rows = [*csv.reader(lines)] or [[]]
    except csv.Error as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if rows and (len(rows[-1]) not in (0, len(names)) or not lines[-1].endswith(("\r", "\n"))):
        notes.append(f"The last row of {path} is incomplete, and does not count.")
        rows.pop()
    return [dict(zip(names, row, strict=True)) for row in whole_rows(path, rows, names, before=0)]


def _settings(path: Path) -> Row:
    """Return the hyperparameters in a file hparams.yaml; {} if there is none, or no mapping."""
    settings = read_yaml(path) if path.exists() else None
    return settings if isinstance(settings, dict) else {}
