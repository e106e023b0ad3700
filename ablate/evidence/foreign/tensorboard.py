"""Read the runs of TensorBoard; every folder with event files is a run, every tag a column.

TensorBoard's own reader (`EventAccumulator`) reads all scalars of a folder, not a sample, and drops
what a restart has replaced. It knows of a restart only if the program says so, by `purge_step`.
Therefore a value does not count either if the program wrote a later value of the same tag at the
same or an earlier step.

A run of Keras has the folders `train` and `validation`, and `SummaryWriter.add_scalars` makes a
folder for each of its values. The tags in such folders are columns of one run, and begin with the
name of the folder, as in `validation/epoch_loss`. If the column `folder_2` is wanted, such folders
at the second level are runs of their own. The folders that Lightning makes for a resumed run are
one run (ablate.evidence.foreign.resumed).

Further columns: `run`, the path of the run's folder below the given folder; `folder_1`, `folder_2`,
... the names in this path, which often contain arm and seed; `_step`; `_wall_time` and `_started`,
in seconds since 1970. There is a row for each run with the last value of each tag. If the column
`_step` is wanted, there is a row for each step.

Requires tensorboard, which the extra `tensorboard` installs.
"""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.builder import RUN, RunLog, from_runs
from ablate.evidence.foreign.reading import files_below, folder_of, path_columns
from ablate.evidence.foreign.resumed import join_resumed
from ablate.evidence.foreign.table import Row, Table
from ablate.phrases import listed

PATTERN = "*tfevents*"
FLOATS = (1, 2)  # types of a tensor: DT_FLOAT and DT_DOUBLE
KINDS = ("scalars", "tensors")  # what the accumulator reads in full
OTHERS = ("histograms", "distributions", "images", "audio")
STEP, STARTED, TIME = "_step", "_started", "_wall_time"
TRAIN, OTHER_SPLITS = "train", {"validation", "valid", "val", "eval", "test"}
Points = dict[int, tuple[float, float]]  # value and seconds by step
Content = dict[str, Points]  # the values in a folder by tag


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
    folders = dict.fromkeys(path.parent for path in files_below(root, PATTERN))
    read_folders = {folder: _read(folder, notes) for folder in folders}
    contents = {folder: content for folder, (content, _) in read_folders.items()}
    runs = {
        folder: _run(root, folder, content)
        for folder, content in _by_run(root, contents, wanted).items()
    }
    whole = _whole_runs(runs, wanted, notes)
    if restarted := sum(lost > 0 for _, lost in read_folders.values()):
        notes.append(
            f"{restarted} of {len(folders)} folders have values at later steps than values that "
            "were written after them, as after a restart. These earlier values do not count."
        )
    whole = join_resumed(root, whole, STEP, notes)
    if STEP not in wanted:
        whole = [log._replace(results=[_last(log)]) for log in whole]
    needed = "event file with scalars: give a log folder of TensorBoard"
    return from_runs(str(root), whole, wanted, names, needed, notes)


def _last(log: RunLog) -> Row:
    """Return the last value of each column of a run."""
    return {key: value for row in log.results for key, value in row.items()}


def _by_run(
    root: Path, contents: Mapping[Path, Content], wanted: Iterable[str]
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
        if is_part and f"folder_{len(folder.relative_to(root).parts)}" not in wanted:
            renamed = {f"{folder.name}/{tag}": points for tag, points in content.items()}
            runs.setdefault(run, {}).update(renamed)
        else:
            runs.setdefault(folder, {}).update(content)
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


def _run(root: Path, folder: Path, content: Content) -> RunLog:
    """Return a run with a row per step."""
    started = min((s for points in content.values() for _, s in points.values()), default=math.inf)
    by_step: dict[int, Row] = {}
    for tag, points in content.items():
        for step, (value, seconds) in points.items():
            row = by_step.setdefault(step, {STEP: step, TIME: seconds})
            row |= {tag: value, TIME: max(row[TIME], seconds)}
    about = {**path_columns(root, folder), STARTED: started}
    return RunLog(about, {}, [by_step[step] for step in sorted(by_step)])


def _read(folder: Path, notes: list[str]) -> tuple[Content, int]:
    """Return the scalars in the event files of a folder, and the number of steps whose values do
    not count because of a restart.

    Raises:
        UserError: tensorboard is not installed, or a file cannot be read.
    """
    try:
        from google.protobuf.message import DecodeError
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        raise UserError(
            f"{folder}: event files need tensorboard: run pip install 'ablate[tensorboard]'"
        ) from None
    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # it warns of every restart
    sizes = {**dict.fromkeys(KINDS, 0), **dict.fromkeys(OTHERS, 1)}
    accumulator = EventAccumulator(str(folder), size_guidance=sizes)
    try:
        damaged = [path for path in sorted(folder.glob(PATTERN)) if _is_damaged(path)]
        with suppress(DecodeError, MemoryError, OverflowError):  # of a damaged record
            accumulator.Reload()
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror or error}") from None
    notes.extend(
        f"{path.name} in {folder} is read up to its last whole record: the rest is incomplete or "
        "damaged."
        for path in damaged
    )
    tags = accumulator.Tags()
    content, lost = {}, 0
    for tag in dict.fromkeys(tag for kind in KINDS for tag in tags[kind]):
        content[tag], replaced = _latest([*_points(accumulator, tag, tags)])
        lost += replaced
    return {tag: points for tag, points in content.items() if points}, lost


def _points(
    accumulator: Any, tag: str, tags: Mapping[str, Iterable[str]]
) -> Iterator[tuple[int, float, float]]:
    """Yield step, value and seconds of the scalars of a tag, in the order in which they are read.

    Writers of TensorFlow 2 store scalars as tensors with a single number.
    """
    if tag in tags["scalars"]:
        for event in accumulator.Scalars(tag):
            yield event.step, event.value, event.wall_time
    if tag in tags["tensors"]:
        for event in accumulator.Tensors(tag):
            if (value := _scalar(event.tensor_proto)) is not None:
                yield event.step, value, event.wall_time


def _latest(points: list[tuple[int, float, float]]) -> tuple[Points, int]:
    """Return the values of a tag that no later value replaces, and the number of steps that are
    left without a value.

    A value replaces those that were written before it at the same step or at later steps.
    """
    latest: Points = {}
    first = math.inf
    for step, value, seconds in sorted(reversed(points), key=lambda point: -point[2]):
        if step < first:
            latest[step], first = (value, seconds), step
    return latest, len({step for step, _, _ in points} - latest.keys())


def _is_damaged(path: Path) -> bool:
    """Return whether an event file ends within a record, or has a damaged record; TensorBoard's
    reader ignores the rest of such a file without a word.
    """
    from tensorboard.compat.tensorflow_stub.errors import DataLossError, OutOfRangeError
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New

    reader = PyRecordReader_New(str(path))
    try:
        while True:
            reader.GetNext()
    except OutOfRangeError:  # the end of the file
        return False
    except (DataLossError, MemoryError, OverflowError):  # also a length beyond memory
        return True


def _scalar(tensor: Any) -> float | None:
    """Return the number in a tensor; None if it has no number, or several."""
    if tensor.dtype in FLOATS and all(dimension.size == 1 for dimension in tensor.tensor_shape.dim):
        from tensorboard.util.tensor_util import make_ndarray

        with suppress(ValueError):
            return float(make_ndarray(tensor).item())
    return None
