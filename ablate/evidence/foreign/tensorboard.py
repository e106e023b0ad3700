"""Read the runs of TensorBoard; every folder with event files is a run, every tag a column.

All scalars are read, not a sample. Further columns: `run`, the path of the run's folder below the
given folder; `folder_1`, `folder_2`, ... the names in this path, which often contain arm and seed;
`_step`; `_wall_time` and `_started`, in seconds since 1970. There is a row for each run with the
last value of each tag. If the column `_step` is wanted, there is a row for each step.
"""

import math
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.json_lines import from_records
from ablate.evidence.foreign.table import Row, Table
from ablate.evidence.foreign.wire import DamagedError, double, fields, first, masked, signed, text

PATTERN = "**/*tfevents*"
SUMMARY, VALUE = 5, 1  # field numbers: summary in an event, value in a summary
FLOAT, DOUBLE = 1, 2  # types of a tensor
OF_TYPE = {FLOAT: "<f", DOUBLE: "<d"}
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
        UserError: the folder does not exist, or has no event file with scalars.
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
        for message in _records(path.read_bytes()):
            seconds, step = double(first(message, 1)), signed(first(message, 2))
            for tag, value in _values(message):
                yield tag, step, value, seconds
    except DamagedError as error:
        notes.append(f"{path.name} in {path.parent} is read up to its last whole record: {error}.")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None


def _values(message: bytes) -> Iterator[tuple[str, float]]:
    """Yield tag and value of each scalar in an event, which is a Protocol Buffers message."""
    for summary in _parts(message, SUMMARY):
        for value in _parts(summary, VALUE):
            scalar = _scalar(value)
            if scalar is not None:
                yield text(value, 1), scalar


def _parts(message: bytes, number: int) -> Iterator[bytes]:
    """Yield the nested messages in a field of a message, given the field number."""
    for key, part in fields(message):
        if key == number and isinstance(part, bytes):
            yield part


def _scalar(value: bytes) -> float | None:
    simple = first(value, 2)
    if isinstance(simple, bytes) and len(simple) == 4:
        return float(struct.unpack("<f", simple)[0])
    tensor = first(value, 8)
    return _of_tensor(tensor) if isinstance(tensor, bytes) else None


def _of_tensor(tensor: bytes) -> float | None:
    """Return the number in an encoded tensor with one element; None for any other tensor."""
    form = OF_TYPE.get(signed(first(tensor, 1)), "")
    content = first(tensor, 4) or first(tensor, 5 if form == "<f" else 6)
    if not form or not isinstance(content, bytes) or len(content) != struct.calcsize(form):
        return None
    return float(struct.unpack(form, content)[0])


def _records(content: bytes) -> Iterator[bytes]:
    """Yield the message of each record in an event file after checking its checksums.

    Raises:
        DamagedError: a checksum is wrong, or the file ends in the middle of a record.
    """
    place = 0
    while place < len(content):
        if place + 12 > len(content):
            raise DamagedError("it ends in the middle of a record")
        head = content[place : place + 8]
        (size,) = struct.unpack("<Q", head)
        end = place + 12 + size
        if struct.unpack("<I", content[place + 8 : place + 12])[0] != masked(head):
            raise DamagedError("the checksum of a length is wrong")
        if end + 4 > len(content):
            raise DamagedError("it ends in the middle of a record")
        message = content[place + 12 : end]
        if struct.unpack("<I", content[end : end + 4])[0] != masked(message):
            raise DamagedError("the checksum of a record is wrong")
        yield message
        place = end + 4
