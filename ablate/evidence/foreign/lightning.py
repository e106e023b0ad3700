"""Read runs of Lightning's CSVLogger: every folder with a metrics.csv is a run.

Columns: `run`, the path of the folder below the source; `folder_1`, ... its parts; the
hyperparameters of the hparams.yaml beside it; and the columns of metrics.csv. Rows are those of
metrics.csv, with empty cells at steps without a metric. If the study names no columns `run` and
`step`, the last value of each metric counts.
"""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.json_lines import flat, from_records
from ablate.evidence.foreign.reading import named, read_yaml
from ablate.evidence.foreign.table import Row, Table

METRICS, SETTINGS = "metrics.csv", "hparams.yaml"
RUN = "run"


def read(place: Any, wanted: Iterable[str] = ()) -> Table:
    """Return the runs below a folder: a row per run, or per step if the column `step` is wanted.

    Raises:
        UserError: the folder does not exist, or has no metrics.csv with rows.
    """
    root = Path(place).expanduser()
    if not root.is_dir():
        raise UserError(f"{root}: there is no such folder; give a folder with runs of Lightning")
    by_step = "step" in {*wanted}
    rows: list[Row] = []
    for path in sorted(root.glob(f"**/{METRICS}")):
        about, steps = _about(root, path.parent), _rows(path)
        last = {key: value for row in steps for key, value in row.items() if value != ""}
        rows += [{**about, **row} for row in (steps if by_step else [last])]
    if not rows:
        raise UserError(
            f"{root} has no {METRICS} with rows: give the folder of Lightning's CSVLogger"
        )
    return from_records(str(root), rows, [*wanted, RUN])


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with named(path), path.open(encoding="utf-8", newline="") as file:
            return [row for row in csv.DictReader(file) if None not in row]
    except csv.Error as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def _about(root: Path, folder: Path) -> Row:
    inner = folder.relative_to(root)
    about: Row = {RUN: inner.as_posix()}
    about |= {f"folder_{k}": part for k, part in enumerate(inner.parts, 1)}
    settings = folder / SETTINGS
    return about | (_settings(settings) if settings.exists() else {})


def _settings(path: Path) -> Row:
    """Return the hyperparameters of a run."""
    with named(path):
        settings = read_yaml(path)
        return flat(settings) if isinstance(settings, dict) else {}
