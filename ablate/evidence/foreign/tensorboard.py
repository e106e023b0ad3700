"""Read the runs of TensorBoard; every folder with event files is a run, every tag a column.

A run of Keras has the folders `train` and `validation`, and `SummaryWriter.add_scalars` makes a
folder for each of its values. The tags in such folders are columns of one run, and begin with the
name of the folder, as in `validation/epoch_loss`. If the column `folder_2` is wanted, such folders
at the second level are runs of their own.

All scalars are read, not a sample. Further columns: `run`, the path of the run's folder below the
given folder; `folder_1`, `folder_2`, ... the names in this path, which often contain arm and seed;
`_step`; `_wall_time` and `_started`, in seconds since 1970. There is a row for each run with the
last value of each tag. If the column `_step` is wanted, there is a row for each step.

Requires tensorboard, which the extra `tensorboard` installs.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.builder import RUN, RunLog, from_runs
from ablate.evidence.foreign.reading import files_below, folder_of, path_columns
from ablate.evidence.foreign.table import Row, Table
from ablate.phrases import listed

PATTERN = "*tfevents*"
FLOATS = (1, 2)  # types of a tensor: DT_FLOAT and DT_DOUBLE
STEP, STARTED, TIME = "_step", "_started", "_wall_time"
TRAIN, OTHER_SPLITS = "train", {"validation", "valid", "val", "eval", "test"}
Scalar = tuple[str, int, float, float]  # tag, step, value, seconds
Points = dict[int, tuple[float, float]]  # value and seconds by step
Content = dict[str, Points]  # the values in an event file by tag


def read(place: Any, wanted: Iterable[str] = (), names: Iterable[str] = ()) -> Table:
    """Return the scalars of all runs below a folder: a row per run, or per step if `_step` is
    wanted.

    Args:
        place: path of the folder.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.
        names: columns of names, whose cells are texts as they are written.

    Raises:
        UserError: the folder does not exist, or has no event file with scalars; or tensorboard is
            not installed.
    """
    root, wanted = folder_of(place, "event files of TensorBoard"), [*wanted]
    notes: list[str] = []
    contents: dict[Path, list[Content]] = {}
    for path in files_below(root, PATTERN):
        contents.setdefault(path.parent, []).append(_points(path, notes))
    runs: dict[Path, RunLog] = {}
    restarted = 0
    for folder, parts in _by_run(root, contents, wanted).items():
        runs[folder], replaced = _run(root, folder, parts)
        restarted += replaced > 0
    whole = _whole_runs(runs, wanted, notes)
    if restarted:
        notes.append(
            f"{restarted} of {len(runs)} runs were started again at an earlier step. From this "
            "step on, values that were written before the restart do not count."
        )
    if STEP not in wanted:
        whole = [log._replace(results=[_last(log)]) for log in whole]
    needed = "event file with scalars: give a log folder of TensorBoard"
    return from_runs(str(root), whole, wanted, names, needed, notes)


def _last(log: RunLog) -> Row:
    """Return the last value of each column of a run."""
    return {key: value for row in log.results for key, value in row.items()}


def _by_run(
    root: Path, contents: Mapping[Path, list[Content]], wanted: Iterable[str]
) -> dict[Path, list[Content]]:
    """Return the contents of the event files of each run by its folder.

    The tags of a folder that is only a part of a run get the name of this folder as a prefix.
    """
    names: dict[Path, set[str]] = {}
    for folder in contents:
        names.setdefault(folder.parent, set()).add(folder.name)
    runs: dict[Path, list[Content]] = {}
    for folder, parts in contents.items():
        run, beside = folder.parent, names[folder.parent]
        splits = TRAIN in beside and not beside.isdisjoint(OTHER_SPLITS)
        is_part = splits and folder.name in {TRAIN, *OTHER_SPLITS}
        tags = {tag for content in parts for tag in content}
        if len(tags) == 1 and run in contents:  # as SummaryWriter.add_scalars names its folders
            is_part |= folder.name.startswith(f"{min(tags).replace('/', '_')}_")
        if is_part and f"folder_{len(folder.relative_to(root).parts)}" not in wanted:
            renamed = [{f"{folder.name}/{t}": x for t, x in part.items()} for part in parts]
            runs.setdefault(run, []).extend(renamed)
        else:
            runs.setdefault(folder, []).extend(parts)
    return runs


def _whole_runs(
    runs: Mapping[Path, RunLog], wanted: Iterable[str], notes: list[str]
) -> list[RunLog]:
    """Return the runs that have scalars.

    A folder within the folder of a run is not a run itself if it has none of the wanted tags.
    `SummaryWriter.add_hparams` makes such folders.
    """
    tags = {name for name in wanted if not name.startswith("folder_")} - {RUN, STEP, STARTED, TIME}
    with_tag = {folder for folder, log in runs.items() if tags & _last(log).keys()}
    parts = {folder for folder in runs.keys() - with_tag if not with_tag.isdisjoint(folder.parents)}
    if parts:
        notes.append(
            "Folders that do not count as runs, because they are within the folder of a run and "
            f"have no value of {listed(sorted(tags), 'or')}: {len(parts)}."
        )
    return [log for folder, log in runs.items() if log.results and folder not in parts]


def _run(root: Path, folder: Path, parts: list[Content]) -> tuple[RunLog, int]:
    """Return a run with a row per step, and the number of values that do not count.

    If a tag has two values at a step, the later value counts. If a program was started again at an
    earlier step, later steps of its previous start do not count.
    """
    by_tag: Content = {}
    replaced = 0
    contents = [content for content in parts if content]
    for content in sorted(contents, key=_began):
        for tag, points in content.items():
            before = by_tag.get(tag, {})
            kept = _before(before, _began(content), min(points))
            replaced += len(before.keys() - kept.keys() - points.keys())
            by_tag[tag] = kept | points
    started = min(map(_began, contents), default=math.inf)
    by_step: dict[int, Row] = {}
    for tag, points in by_tag.items():
        for step, (value, seconds) in points.items():
            row = by_step.setdefault(step, {STEP: step, TIME: seconds})
            row |= {tag: value, TIME: max(row[TIME], seconds)}
    about = {**path_columns(root, folder), STARTED: started}
    return RunLog(about, {}, [by_step[step] for step in sorted(by_step)]), replaced


def _points(path: Path, notes: list[str]) -> Content:
    """Return the values in an event file by tag and step."""
    by_tag: Content = {}
    for tag, step, value, seconds in _scalars(path, notes):
        by_tag.setdefault(tag, {})[step] = value, seconds
    return by_tag


def _began(content: Content) -> float:
    """Return the time of the first value in an event file, in seconds since 1970."""
    return min(seconds for points in content.values() for _, seconds in points.values())


def _before(points: Points, began: float, first: int) -> Points:
    """Return the values of a tag without those that a later event file replaces.

    A later file may also come from a second writer of the same program. Values that were written
    after the first value of the later file therefore stay.

    Args:
        points: values of the tag in earlier files.
        began: time of the first value in the later file.
        first: first step of the tag in the later file.
    """
    return {step: p for step, p in points.items() if step < first or p[1] >= began}


def _scalars(path: Path, notes: list[str]) -> Iterator[Scalar]:
    """Yield the scalars of an event file up to its last complete record."""
    try:
        from google.protobuf.message import DecodeError
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.tensorflow_stub.errors import DataLossError, OutOfRangeError
        from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New
    except ImportError:
        raise UserError(
            f"{path}: an event file needs tensorboard: run pip install 'ablate[tensorboard]'"
        ) from None
    try:
        reader = PyRecordReader_New(str(path))
        while True:
            reader.GetNext()
            event = Event.FromString(reader.record())
            for value in event.summary.value:
                if (scalar := _scalar(value)) is not None:
                    yield value.tag, event.step, scalar, event.wall_time
    except OutOfRangeError:  # the end of the file
        return
    except (DataLossError, DecodeError, MemoryError, OverflowError):  # also a length beyond memory
        notes.append(
            f"{path.name} in {path.parent} is read up to its last whole record: the rest is "
            "incomplete or damaged."
        )
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None


def _scalar(value: Any) -> float | None:
    """Return the number in a value of a summary; None if the value is not a scalar."""
    if value.HasField("simple_value"):
        return float(value.simple_value)
    tensor = value.tensor
    if tensor.dtype in FLOATS and all(dimension.size == 1 for dimension in tensor.tensor_shape.dim):
        from tensorboard.util.tensor_util import make_ndarray

        with suppress(ValueError):  # the tensor has no number, or several
            return float(make_ndarray(tensor).item())
    return None
