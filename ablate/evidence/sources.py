"""Read runs that other programs made as a data frame.

Of the logs of Lightning and TensorBoard, it has a row per run or, on request, per step.

Of Lightning's CSVLogger, every folder with a metrics.csv is a run. Columns: `run`, the path of the
run's folder below the given folder; `folder_1`, `folder_2`, ... the names in this path, which often
contain arm and seed; the hyperparameters in hparams.yaml; and the columns of metrics.csv.

Lightning logs each start of a program into a new folder: version_0, version_1, ... A run that is
resumed from a checkpoint, or that is tested later, therefore has several folders. A folder belongs
to the run of an earlier folder beside it if both have the same hyperparameters, and if its first
step is later than the first step of that run: a run of its own would begin where others begin.

Of TensorBoard, every folder with event files is a run, and every tag a column. Further columns are
`run`, `folder_1` ..., `_step`, and `_started`, in seconds since 1970. TensorBoard's own reader
(`EventAccumulator`) reads all scalars of a folder, not a sample, and drops what a restart has
replaced. It knows of a restart only if the program says so, by `purge_step`. Therefore a value does
not count either if the program wrote a later value of the same tag at the same or an earlier step.

Some runs write into the folders `train` and `validation`, and `SummaryWriter.add_scalars` makes a
folder for each of its values. The tags in such folders are columns of one run, and begin with the
name of the folder, as in `validation/epoch_loss`. If the column `folder_2` is required, such
folders at the second level are runs of their own. Tensors, as which TensorFlow 2 stores scalars,
are not read.

TensorBoard's logs require tensorboard, which the extra `tensorboard` installs.
"""

import csv
import logging
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ablate.errors import UserError, first_line
from ablate.evidence.tables import (
    RUN,
    STEP,
    WANDB,
    Row,
    RunLog,
    Source,
    from_lines,
    from_logs,
    last_values,
    path_columns,
    read_project,
    read_table,
    with_index,
)
from ablate.phrases import listed

METRICS, SETTINGS, CSV_STEP = "metrics.csv", "hparams.yaml", "step"
# columns that are no metrics: Lightning writes hp_metric at step 0 of every folder
BESIDE = {"hp_metric", "epoch"}
VERSION = re.compile(r"(.*?)version_(\d+)")
PATTERN = "*tfevents*"
OTHERS = ("tensors", "histograms", "distributions", "images", "audio")
STARTED = "_started"
TRAIN, OTHER_SPLITS = "train", {"validation", "valid", "val", "eval", "test"}
Points = dict[int, tuple[float, float]]  # value and seconds by step
Content = dict[str, Points]  # the values in a folder by tag


def read(source: Any, columns: Collection[str] = ()) -> Source:
    """Return the runs of a source as a data frame, in which the names in files are texts as they
    are written.

    Args:
        source: a data frame; the path of a table, or of a folder with logs of TensorBoard or
            Lightning; or wandb://ENTITY/PROJECT.
        columns: names of the columns that are needed; with the column of steps, logs are read with
            a row for each step.

    Raises:
        UserError: the source does not exist or cannot be read.
    """
    if isinstance(source, pd.DataFrame):
        return Source("the data frame", with_index(source))
    try:
        return _from_place(str(source), columns)
    except (ImportError, OSError, EOFError, ValueError, RecursionError, csv.Error) as error:
        raise UserError(f"{source} cannot be read: {first_line(error)}") from None


def _from_place(source: str, columns: Collection[str]) -> Source:
    if source.startswith(WANDB):
        return read_project(source.removeprefix(WANDB), columns)
    path = Path(source).expanduser()
    if not path.is_dir():
        return Source(str(path), read_table(path))
    if next(path.rglob(METRICS), None):
        return read_lightning(path, columns)
    return read_tensorboard(path, columns)


def read_lightning(root: Path, columns: Collection[str]) -> Source:
    """Return the runs of Lightning's CSVLogger below a folder.

    Raises:
        UserError: the folder has no metrics.csv with rows.
    """
    notes: list[str] = []
    runs = [
        RunLog(
            path_columns(root, path.parent), _settings(path.with_name(SETTINGS)), _rows(path, notes)
        )
        for path in sorted(root.rglob(METRICS))
    ]
    runs = join_resumed(root, runs, CSV_STEP, notes)
    if CSV_STEP not in columns:
        runs = [run._replace(results=[last_values(run.results)]) for run in runs]
    needed = f"{METRICS} with rows: give the folder of Lightning's CSVLogger"
    return from_logs(str(root), runs, needed, notes, "hparams")


def _rows(path: Path, notes: list[str]) -> list[Row]:
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
    return from_lines(path, lines).to_dict("records")


def _settings(path: Path) -> Row:
    """Return the hyperparameters in a file hparams.yaml; {} if there is none, or no mapping."""
    settings = yaml.safe_load(path.read_bytes()) if path.exists() else None
    return settings if isinstance(settings, dict) else {}


def join_resumed(root: Path, runs: Sequence[RunLog], step: str, notes: list[str]) -> list[RunLog]:
    """Return the runs, in which the folders of a resumed run are one run.

    Args:
        root: folder that contains the folders of the runs.
        runs: a log for each folder, with a row for each step.
        step: name of the column with the step.
        notes: remarks about the source, to which a sentence for each joined folder is added.
    """
    joined: dict[str, RunLog] = {}
    for log in sorted(runs, key=lambda log: _version(log)[1]):
        name, place = str(log.about[RUN]), _version(log)[0]
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
    return [joined[str(log.about[RUN])] for log in runs if str(log.about[RUN]) in joined]


def _version(log: RunLog) -> tuple[str | None, int]:
    """Return the folder around the folder of a version, and the number of the version; None and 0
    for another folder.
    """
    match = VERSION.fullmatch(str(log.about[RUN]))
    return (match[1], int(match[2])) if match else (None, 0)


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _first_step(rows: Iterable[Row], step: str) -> float:
    """Return the first step with a metric; NaN, which is later than no step, if there is none."""
    firsts = _first_steps(rows, step).items()
    return min((first for name, first in firsts if name not in BESIDE), default=math.nan)


def _first_steps(rows: Iterable[Row], step: str) -> dict[str, float]:
    """Return the first step with a value for each column."""
    first: dict[str, float] = {}
    for row in rows:
        if row.get(step, "") != "":
            names = (name for name, value in row.items() if value != "" and name != step)
            first |= {name: min(float(row[step]), first.get(name, math.inf)) for name in names}
    return first


def _continued(before: Sequence[Row], after: Sequence[Row], step: str) -> list[Row]:
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


def read_tensorboard(root: Path, columns: Collection[str]) -> Source:
    """Return the scalars of all runs below a folder: a row per run, or per step if `_step` is in
    `columns`.

    Raises:
        UserError: the folder has no event file with scalars.
        ImportError: tensorboard is not installed.
    """
    notes: list[str] = []
    folders = dict.fromkeys(path.parent for path in sorted(root.rglob(PATTERN)))
    contents = {folder: _read(folder) for folder in folders}
    runs = {
        folder: _run(root, folder, content)
        for folder, content in _by_run(root, contents, columns).items()
    }
    logs = _whole_runs(runs, columns, notes)
    logs = join_resumed(root, logs, STEP, notes)
    if STEP not in columns:
        logs = [log._replace(results=[last_values(log.results)]) for log in logs]
    needed = "event file with scalars: give a log folder of TensorBoard"
    return from_logs(str(root), logs, needed, notes)


def _by_run(
    root: Path, contents: Mapping[Path, Content], columns: Iterable[str]
) -> dict[Path, Content]:
    """Return the values of each run by its folder.

    The tags of a folder that is only a part of a run get the name of this folder as a prefix.
    """
    names: dict[Path, set[str]] = {}
    for folder in contents:
        names.setdefault(folder.parent, set()).add(folder.name)
    runs: dict[Path, Content] = {}
    for folder, content in contents.items():
        run, beside = folder.parent, names[folder.parent]
        splits = TRAIN in beside and not beside.isdisjoint(OTHER_SPLITS)
        is_part = splits and folder.name in {TRAIN, *OTHER_SPLITS}
        if len(content) == 1 and run in contents:  # as SummaryWriter.add_scalars names its folders
            is_part |= folder.name.startswith(f"{min(content).replace('/', '_')}_")
        if is_part and f"folder_{len(folder.relative_to(root).parts)}" not in columns:
            renamed = {f"{folder.name}/{tag}": points for tag, points in content.items()}
            runs.setdefault(run, {}).update(renamed)
        else:
            runs.setdefault(folder, {}).update(content)
    return runs


def _whole_runs(
    runs: Mapping[Path, RunLog], columns: Iterable[str], notes: list[str]
) -> list[RunLog]:
    """Return the runs that have scalars.

    A folder within the folder of a run is not a run itself if it has none of the required tags.
    `SummaryWriter.add_hparams` makes such folders.
    """
    tags = {n for n in columns if not n.startswith("folder_")} - {RUN, STEP, STARTED}
    with_tag = {f for f, log in runs.items() if tags & last_values(log.results).keys()}
    parts = {folder for folder in runs.keys() - with_tag if not with_tag.isdisjoint(folder.parents)}
    if parts:
        notes.append(
            "Folders that do not count as runs, because they are within the folder of a run and "
            f"have no value of {listed(sorted(tags), 'or')}: {len(parts)}."
        )
    return [log for folder, log in runs.items() if log.results and folder not in parts]


def _run(root: Path, folder: Path, content: Content) -> RunLog:
    """Return a run with a row per step."""
    started = min((s for points in content.values() for _, s in points.values()), default=math.inf)
    by_step: dict[int, Row] = {}
    for tag, points in content.items():
        for step, (value, _) in points.items():
            by_step.setdefault(step, {STEP: step})[tag] = value
    about = {**path_columns(root, folder), STARTED: started}
    return RunLog(about, {}, [by_step[step] for step in sorted(by_step)])


def _read(folder: Path) -> Content:
    """Return the scalars in the event files of a folder, each up to its last whole record.

    Raises:
        ImportError: tensorboard is not installed.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # it warns of every restart
    sizes = {"scalars": 0, **dict.fromkeys(OTHERS, 1)}  # 0: all of them
    accumulator = EventAccumulator(str(folder), size_guidance=sizes)
    with suppress(DecodeError, MemoryError, OverflowError):  # of a damaged record
        accumulator.Reload()
    return {tag: _latest(accumulator.Scalars(tag)) for tag in accumulator.Tags()["scalars"]}


def _latest(events: Sequence[Any]) -> Points:
    """Return the values of a tag that no later value replaces.

    A value replaces those that were written before it at the same step or at later steps, as after
    a restart.
    """
    latest: Points = {}
    first = math.inf
    for event in sorted(reversed(events), key=lambda event: -event.wall_time):
        if event.step < first:
            latest[event.step], first = (event.value, event.wall_time), event.step
    return latest
