"""Read offline runs of W&B: each is a folder offline-run-* or run-* with a file run-ID.wandb.

A run that was resumed has several folders, which are joined.

Columns: `run` (the id of the run), `name`, `group`, `job_type`, `state`, `_started` in seconds
since 1970; the keys of the config; the keys of the summary. If the column `_step` is wanted, each
row is a step of the history. A key of the config that has the name of another column gets the
prefix `config.`.
"""

import json
import math
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.builder import RunLog, flat, from_runs
from ablate.evidence.foreign.reading import files_below, folder_of
from ablate.evidence.foreign.table import Row, Table

PATTERN = "run-*.wandb"
HEADER, BLOCK, FRAME = 7, 32768, 7  # bytes: header of the file, block, header of a record
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
STEP = "_step"


def read(place: Any, wanted: Iterable[str] = ()) -> Table:
    """Return the offline runs below a folder: a row per run, or per step if `_step` is wanted.

    Raises:
        UserError: the folder does not exist, or has no run.
    """
    root = folder_of(place, "offline runs of W&B")
    notes: list[str] = []
    paths = [root] if root.is_file() else files_below(root, PATTERN)
    runs: dict[tuple[str, str], _Run] = {}
    parts = sorted((_run(path, notes) for path in paths), key=_Run.start)
    for part in parts:
        run = runs.setdefault((part.project, part.about["run"]), part)
        if run is not part:
            run.resume(part)
    if resumed := len(parts) - len(runs):
        notes.append(
            f"Folders of W&B that continue the run of an earlier folder: {resumed}. Of the earlier "
            "folder, only the steps before the first step of the later folder count."
        )
    logs = [run.log(STEP in {*wanted}) for run in runs.values()]
    needed = "offline run of W&B with results: give the folder `wandb`"
    return from_runs(str(root), logs, wanted, needed, notes)


class DamagedError(ValueError):
    """The error for bytes that are not a valid record of W&B's log."""


@dataclass
class _Run:
    """The content of a run's .wandb file, as far as the file has been read."""

    about: Row
    config: Row = field(default_factory=dict)
    summary: Row = field(default_factory=dict)
    history: list[Row] = field(default_factory=list)
    project: str = ""

    def start(self) -> float:
        """Return the start time of the run in seconds since 1970; 0 if it is not recorded."""
        return float(self.about.get("_started") or 0.0)

    def resume(self, later: "_Run") -> None:
        """Add the content of a later file of the same run.

        The steps of the later file replace those from its first step on.
        """
        first = min((row[STEP] for row in later.history if STEP in row), default=math.inf)
        self.history = [row for row in self.history if row.get(STEP, 0) < first] + later.history
        self.about |= {**later.about, "_started": self.about.get("_started")}
        self.config |= later.config
        self.summary |= later.summary

    def take(self, record: Any) -> None:
        """Add the content of a record of W&B's log."""
        match record.WhichOneof("record_type"):
            case "run":
                self.about |= _about(record.run)
                self.project = f"{record.run.entity}/{record.run.project}"
                self.config |= _items(record.run.config.update)
            case "config":
                self.config |= _items(record.config.update)
            case "summary":
                self.summary |= _items(record.summary.update)
            case "history":
                self.history.append(_items(record.history.item))
                self.summary |= self.history[-1]  # until the program sets another value
            case "exit":
                self.about["state"] = "failed" if record.exit.exit_code else "finished"

    def log(self, by_step: bool) -> RunLog:
        """Return the run with the last value of each metric, or with `by_step` a row per step."""
        results = self.history if by_step else [self.summary]
        return log_of(self.about, self.config, filter(None, results))


def _run(path: Path, notes: list[str]) -> _Run:
    """Return the content of a file up to its last whole record."""
    from google.protobuf.message import DecodeError
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]

    run = _Run({"run": path.stem.removeprefix("run-"), "state": "unfinished"})
    try:
        for message in _records(path.read_bytes()):
            run.take(Record.FromString(message))
    except (DamagedError, DecodeError) as error:
        reason = error if isinstance(error, DamagedError) else "a record is not one of W&B"
        notes.append(f"{path.name} is read up to its last whole record: {reason}.")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None
    return run


def log_of(about: Row, config: Row, results: Iterable[Row]) -> RunLog:
    """Return a run from its attributes (such as id and state), its config, and rows of results."""
    settings = {key: value for key, value in config.items() if not key.startswith("_wandb")}
    return RunLog(about, settings, [flat(row) for row in results])


def _about(run: Any) -> Row:
    named = {"run": run.run_id, "group": run.run_group, "job_type": run.job_type}
    started = run.start_time
    seconds = started.seconds + started.nanos / 1e9 if run.HasField("start_time") else None
    return {**named, "name": run.display_name, "_started": seconds}


def _items(items: Iterable[Any]) -> Row:
    """Return the values of W&B's config, summary or history by key."""
    updates: Row = {}
    for item in items:
        try:
            value = json.loads(item.value_json)
        except ValueError:
            continue
        key = ".".join(item.nested_key) or item.key
        updates[key] = value.get("value", value) if _is_setting(value) else value
    return updates


def _is_setting(value: Any) -> bool:
    """Return whether a value has the form {"value": ..., "desc": ...} of W&B's config files."""
    return isinstance(value, dict) and value.keys() <= {"value", "desc"} and "value" in value


def _records(content: bytes) -> Iterator[bytes]:
    """Yield the records of a log in LevelDB's format after checking their checksums.

    Raises:
        DamagedError: a checksum is wrong, or the log ends in the middle of a record.
    """
    place, pieces = HEADER, b""
    while place < len(content):
        left = BLOCK - place % BLOCK
        if left < FRAME:  # the end of a block is padding
            place += left
            continue
        if place + FRAME > len(content):
            raise DamagedError("it ends in the middle of a record")
        crc, size, kind = struct.unpack("<IHB", content[place : place + FRAME])
        piece = content[place + FRAME : place + FRAME + size]
        if len(piece) < size:
            raise DamagedError("it ends in the middle of a record")
        if kind not in (FULL, FIRST, MIDDLE, LAST) or crc != zlib.crc32(bytes([kind]) + piece):
            raise DamagedError("the checksum of a record is wrong")
        pieces = piece if kind in (FULL, FIRST) else pieces + piece
        place += FRAME + size
        if kind in (FULL, LAST):
            yield pieces
