"""Read the runs of TensorBoard; every folder with event files is a run, every tag a column.

TensorBoard's own reader (`EventAccumulator`) reads all scalars of a folder, not a sample, and drops
what a restart has replaced. It knows of a restart only if the program says so, by `purge_step`.
Therefore a value does not count either if the program wrote a later value of the same tag at the
same or an earlier step.

A run of Keras has the folders `train` and `validation`, and `SummaryWriter.add_scalars` makes a
folder for each of its values. The tags in such folders are columns of one run, and begin with the
name of the folder, as in `validation/epoch_loss`. If the column `folder_2` is wanted, such folders
at the second level are runs of their own. The folders that Lightning makes for a resumed run are
one run (ablate.evidence.foreign.lightning).

Further columns: `run`, the path of the run's folder below the given folder; `folder_1`, `folder_2`,
... the names in this path, which often contain arm and seed; `_step`; `_started`, in seconds
since 1970. There is a row for each run with the last value of each tag. If the column
`_step` is wanted, there is a row for each step.

Requires tensorboard, which the extra `tensorboard` installs.
"""

import logging
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ablate.evidence.foreign import logs
from ablate.evidence.foreign.lightning import join_resumed
from ablate.phrases import listed

PATTERN = "*tfevents*"
FLOATS = (1, 2)  # types of a tensor: DT_FLOAT and DT_DOUBLE
KINDS = ("scalars", "tensors")  # what the accumulator reads in full
OTHERS = ("histograms", "distributions", "images", "audio")
STEP, STARTED = "_step", "_started"
TRAIN, OTHER_SPLITS = "train", {"validation", "valid", "val", "eval", "test"}
Points = dict[int, tuple[float, float]]  # value and seconds by step
Content = dict[str, Points]  # the values in a folder by tag


def read_tensorboard(root: Path, wanted: Collection[str]) -> logs.Source:
    """Return the scalars of all runs below a folder: a row per run, or per step if `_step` is
    wanted.

    Raises:
        UserError: the folder has no event file with scalars.
        ImportError: tensorboard is not installed.
    """
    notes: list[str] = []
    folders = dict.fromkeys(path.parent for path in logs.files_below(root, PATTERN))
    contents = {folder: _read(folder) for folder in folders}
    runs = {
        folder: _run(root, folder, content)
        for folder, content in _by_run(root, contents, wanted).items()
    }
    whole = _whole_runs(runs, wanted, notes)
    whole = join_resumed(root, whole, STEP, notes)
    if STEP not in wanted:
        whole = [log._replace(results=[logs.last_values(log.results)]) for log in whole]
    needed = "event file with scalars: give a log folder of TensorBoard"
    return logs.from_logs(str(root), whole, needed, notes)


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
    runs: Mapping[Path, logs.RunLog], wanted: Iterable[str], notes: list[str]
) -> list[logs.RunLog]:
    """Return the runs that have scalars.

    A folder within the folder of a run is not a run itself if it has none of the wanted tags.
    `SummaryWriter.add_hparams` makes such folders.
    """
    tags = {n for n in wanted if not n.startswith("folder_")} - {logs.RUN, STEP, STARTED}
    with_tag = {f for f, log in runs.items() if tags & logs.last_values(log.results).keys()}
    parts = {folder for folder in runs.keys() - with_tag if not with_tag.isdisjoint(folder.parents)}
    if parts:
        notes.append(
            "Folders that do not count as runs, because they are within the folder of a run and "
            f"have no value of {listed(sorted(tags), 'or')}: {len(parts)}."
        )
    return [log for folder, log in runs.items() if log.results and folder not in parts]


def _run(root: Path, folder: Path, content: Content) -> logs.RunLog:
    """Return a run with a row per step."""
    started = min((s for points in content.values() for _, s in points.values()), default=math.inf)
    by_step: dict[int, logs.Row] = {}
    for tag, points in content.items():
        for step, (value, _) in points.items():
            by_step.setdefault(step, {STEP: step})[tag] = value
    about = {**logs.path_columns(root, folder), STARTED: started}
    return logs.RunLog(about, {}, [by_step[step] for step in sorted(by_step)])


def _read(folder: Path) -> Content:
    """Return the scalars in the event files of a folder, each up to its last whole record.

    Raises:
        ImportError: tensorboard is not installed.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logging.getLogger("tensorboard").setLevel(logging.ERROR)  # it warns of every restart
    sizes = {**dict.fromkeys(KINDS, 0), **dict.fromkeys(OTHERS, 1)}
    accumulator = EventAccumulator(str(folder), size_guidance=sizes)
    with suppress(DecodeError, MemoryError, OverflowError):  # of a damaged record
        accumulator.Reload()
    tags = accumulator.Tags()
    names = dict.fromkeys(tag for kind in KINDS for tag in tags[kind])
    content = {tag: _latest([*_points(accumulator, tag, tags)]) for tag in names}
    return {tag: points for tag, points in content.items() if points}


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


def _latest(points: list[tuple[int, float, float]]) -> Points:
    """Return the values of a tag that no later value replaces.

    A value replaces those that were written before it at the same step or at later steps, as after
    a restart.
    """
    latest: Points = {}
    first = math.inf
    for step, value, seconds in sorted(reversed(points), key=lambda point: -point[2]):
        if step < first:
            latest[step], first = (value, seconds), step
    return latest


def _scalar(tensor: Any) -> float | None:
    """Return the number in a tensor; None if it has no number, or several."""
    if tensor.dtype in FLOATS and all(dimension.size == 1 for dimension in tensor.tensor_shape.dim):
        from tensorboard.util.tensor_util import make_ndarray

        with suppress(ValueError):
            return float(make_ndarray(tensor).item())
    return None
