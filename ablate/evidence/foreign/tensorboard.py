"""Read the runs of TensorBoard; every folder with event files is a run, every tag a column.

All scalars are read, not a sample. Further columns: `run`, the path of the run's folder below the
given folder; `folder_1`, `folder_2`, ... the names in this path, which often contain arm and seed;
`_step`; `_wall_time` and `_started`, in seconds since 1970. There is a row for each run with the
last value of each tag. If the column `_step` is wanted, there is a row for each step.

Requires tensorboard, which the extra `tensorboard` installs.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.json_lines import from_records
from ablate.evidence.foreign.table import Row, Table

PATTERN = "**/*tfevents*"
FLOATS = (1, 2)  # types of a tensor: DT_FLOAT and DT_DOUBLE
STEP, RUN, STARTED, TIME = "_step", "run", "_started", "_wall_time"
Scalar = tuple[str, int, float, float]  # tag, step, value, seconds


def read(place: Any, wanted: Iterable[str] = ()) -> Table:
    """Return the scalars of all runs below a folder: a row per run, or per step if `_step` is
    wanted.

    Args:
        place: path of the folder.
        wanted: columns that are always kept. Other columns are dropped if they have too many
            different texts, such as run ids.

    Raises:
        UserError: the folder does not exist, or has no event file with scalars; or tensorboard is
            not installed.
    """
    root, wanted = Path(place).expanduser(), [*wanted]
    if not root.is_dir():
        raise UserError(
            f"{root}: there is no such folder; give one with event files of TensorBoard"
        )
    files: dict[Path, list[Path]] = {}
    for path in sorted(root.glob(PATTERN)):
        files.setdefault(path.parent, []).append(path)
    rows: list[Row] = []
    notes: list[str] = []
    for folder, parts in files.items():
        steps = _run(root, folder, parts, notes)
        last = {key: value for row in steps for key, value in row.items()}
        rows += steps if STEP in wanted else [last] if last else []
    if not rows:
        raise UserError(f"{root} has no event file with scalars: give a log folder of TensorBoard")
    return from_records(str(root), rows, [*wanted, RUN], notes)


def _run(root: Path, folder: Path, files: list[Path], notes: list[str]) -> list[Row]:
    """Return a row per step of one run.

    If a tag has two values at a step, the later value counts.
    """
    name = folder.relative_to(root).as_posix()
    parts = {f"folder_{k}": part for k, part in enumerate(folder.relative_to(root).parts, 1)}
    by_step: dict[int, Row] = {}
    started = math.inf
    for path in files:
        for tag, step, value, seconds in _scalars(path, notes):
            row = by_step.setdefault(step, {RUN: name, **parts, STEP: step})
            row |= {tag: value, TIME: seconds}
            started = min(started, seconds)
    return [{**by_step[step], STARTED: started} for step in sorted(by_step)]


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
