"""Read the logs of Lightning, in which a resumed run has several folders.

Of Lightning's CSVLogger, every folder with a metrics.csv is a run. Columns: `run`, the path of the
run's folder below the given folder; `folder_1`, `folder_2`, ... the names in this path; the
hyperparameters in hparams.yaml; and the columns of metrics.csv. A run is a row with the last value
of each metric, or a row per step if the column `step` is wanted.

Lightning logs each start of a program into a new folder: version_0, version_1, ... A run that is
resumed from a checkpoint, or that is tested later, therefore has several folders. A folder belongs
to the run of an earlier folder beside it if both have the same hyperparameters, and if its first
step is later than the first step of that run: a run of its own would begin where others begin.
"""

import csv
import math
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import yaml

from ablate.evidence.foreign import logs

METRICS, SETTINGS, STEP = "metrics.csv", "hparams.yaml", "step"
# columns that are no metrics: Lightning writes hp_metric at step 0 of every folder
BESIDE = {"hp_metric", "epoch"}
VERSION = re.compile(r"(.*?)version_(\d+)")


def read_lightning(root: Path, wanted: Collection[str]) -> logs.Source:
    """Return the runs of Lightning's CSVLogger below a folder.

    Raises:
        UserError: the folder has no metrics.csv with rows.
    """
    notes: list[str] = []
    runs = [
        logs.RunLog(
            logs.path_columns(root, path.parent),
            _settings(path.with_name(SETTINGS)),
            _rows(path, notes),
        )
        for path in logs.files_below(root, METRICS)
    ]
    runs = join_resumed(root, runs, STEP, notes)
    if STEP not in wanted:
        runs = [run._replace(results=[logs.last_values(run.results)]) for run in runs]
    needed = f"{METRICS} with rows: give the folder of Lightning's CSVLogger"
    return logs.from_logs(str(root), runs, needed, notes, "hparams")


def _rows(path: Path, notes: list[str]) -> list[logs.Row]:
    """Return the rows of a file, without an incomplete last row, which a killed process may leave.

    Raises:
        ValueError: another row has more or fewer cells than the header.
    """
    lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    if len(lines) > 1:
        cells, names = (len(next(csv.reader([line]))) for line in (lines[-1], lines[0]))
        if cells != names or not lines[-1].endswith("\n"):
            notes.append(f"The last row of {path} is incomplete, and does not count.")
            lines.pop()
    return logs.from_lines(path, lines).to_dict("records")


def _settings(path: Path) -> logs.Row:
    """Return the hyperparameters in a file hparams.yaml; {} if there is none, or no mapping."""
    settings = yaml.safe_load(path.read_bytes()) if path.exists() else None
    return settings if isinstance(settings, dict) else {}


def join_resumed(
    root: Path, runs: Sequence[logs.RunLog], step: str, notes: list[str]
) -> list[logs.RunLog]:
    """Return the runs, in which the folders of a resumed run are one run.

    Args:
        root: folder that contains the folders of the runs.
        runs: a log for each folder, with a row for each step.
        step: name of the column with the step.
        notes: remarks about the source, to which a sentence for each joined folder is added.
    """
    joined: dict[str, logs.RunLog] = {}
    for log in sorted(runs, key=lambda log: _version(log)[1]):
        name, place = str(log.about[logs.RUN]), _version(log)[0]
        first = _first_step(log.results, step)
        before = [
            run
            for run, other in joined.items()
            if place is not None
            and _version(other)[0] == place
            and _bytes(root / run / SETTINGS) == _bytes(root / name / SETTINGS)
            and _first_step(other.results, step) < first
        ]
        if not before:
            joined[name] = log
            continue
        whole = joined[before[-1]]
        rows = _continued(whole.results, log.results, step)
        joined[before[-1]] = whole._replace(results=rows)
        notes.append(
            f"{name} begins at step {first:g}, so it counts as the continuation of {before[-1]}: "
            "Lightning logs a run that is resumed or tested later into a new folder."
        )
    return [joined[str(log.about[logs.RUN])] for log in runs if str(log.about[logs.RUN]) in joined]


def _version(log: logs.RunLog) -> tuple[str | None, int]:
    """Return the folder around the folder of a version, and the number of the version; None and 0
    for another folder.
    """
    match = VERSION.fullmatch(str(log.about[logs.RUN]))
    return (match[1], int(match[2])) if match else (None, 0)


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _first_step(rows: Iterable[logs.Row], step: str) -> float:
    """Return the first step with a metric; NaN, which is later than no step, if there is none."""
    firsts = _first_steps(rows, step).items()
    return min((first for name, first in firsts if name not in BESIDE), default=math.nan)


def _first_steps(rows: Iterable[logs.Row], step: str) -> dict[str, float]:
    """Return the first step with a value for each column."""
    first: dict[str, float] = {}
    for row in rows:
        if row.get(step, "") != "":
            names = (name for name, value in row.items() if value != "" and name != step)
            first |= {name: min(float(row[step]), first.get(name, math.inf)) for name in names}
    return first


def _continued(before: Sequence[logs.Row], after: Sequence[logs.Row], step: str) -> list[logs.Row]:
    """Return the rows of a run and of its continuation, which replaces later values of each
    column.
    """
    first = _first_steps(after, step)
    kept = [
        {
            name: value
            for name, value in row.items()
            if row.get(step, "") == "" or float(row[step]) < first.get(name, math.inf)
        }
        for row in before
    ]
    return [*kept, *after]
