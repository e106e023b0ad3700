"""Writing files so that a reader never sees half of one, and can tell whether it was changed.

A seal is a digest of what a record says, written into the record. It finds damage and careless
edits. It is no signature: there is no secret in it, so whoever wants to forge a record computes
its seal anew.
"""

import functools
import hashlib
import io
import json
import math
import mmap
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ablate.errors import UserError

FILE_NAME = re.compile(r"\w[\w .+=,-]*")
WANDB = "wandb"  # W&B's own folder: its logs are links to elsewhere, and only W&B reads them
UNFINISHED = re.compile(r"\..+\.(?P<process>\d+)@(?P<place>.+)")  # names that `unfinished` gives
SEAL = "seal"
COLUMNS = 100  # of a line of JSON
ZIP_COMMENT = 64 + 2  # bytes that end a file of `write_tensors`: a digest, and its length before it


def check_name(key: str, name: str) -> None:
    """Raise UserError for a name that is to become that of a file, and is none."""
    if not FILE_NAME.fullmatch(name):
        raise UserError(
            f"{key}={name}: files are named after it, so it must begin with a letter or a digit "
            "and hold nothing but these, spaces and _ . + = , -"
        )


def check_links(folder: Path, within: Path) -> None:
    """Refuse a folder in which something would be read or written elsewhere, or without an end.

    Raises:
        UserError: a symbolic link, the folder itself or one below it, leads out of `within`; or
            there is a pipe, a device or the like.
    """
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in (*folders, *files))):
            if path.is_symlink() and not lies_in(path, within):
                raise UserError(f"{path} is a link that leads out of {within}: it is not followed")
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise UserError(f"{path} is neither a file nor a folder: it is not read")
        folders[:] = [name for name in folders if name != WANDB]


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder, symbolic links followed; a link to itself stays."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in errors of writing it, such as a full disk.

    Raises:
        UserError: the system refused.
    """
    try:
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}") from error


def check_writable(folder: Path) -> None:
    """Make a folder if there is none, and a file in it, and remove the file.

    Raises:
        UserError: the folder or the disk does not take it.
    """
    trial = unfinished(folder / "trial")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        trial.touch()
        trial.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: a temporary file beside it is renamed over it."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or nothing.

    Raises:
        UserError: the folder or the disk does not take it.
    """
    private = unfinished(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with private.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(private, path)
        finally:
            private.unlink(missing_ok=True)


def unfinished(path: Path) -> Path:
    """The name under which this process writes what is to become `path`."""
    return path.with_name(f".{path.name}.{os.getpid()}@{_place()}")


def clear_unfinished(folder: Path, *, alone: bool = False) -> None:
    """Remove what processes that are gone have left under the names that `unfinished` gives.

    Whether a process lives is known only where it was started. What another machine has left stays,
    unless this process is `alone` in the folder: then nobody is writing there.
    """
    for path in folder.glob(".*@*"):
        if is_left_over(path, alone=alone):
            with suppress(OSError):  # another process was faster, or the folder takes nothing
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def is_left_over(path: Path, *, alone: bool = False) -> bool:
    """Whether a path has a name that `unfinished` gave to a process that is gone."""
    name = UNFINISHED.fullmatch(path.name)
    if name is None:
        return False
    return alone or (name["place"] == _place() and _is_gone(int(name["process"])))


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it is somebody else's
        return False
    return False


@functools.cache
def _place() -> str:
    """Where the number of a process means something: this machine, or a container on it."""
    namespace = Path("/proc/self/ns/pid")  # only Linux has it
    return f"{platform.node()}-{namespace.stat().st_ino if namespace.exists() else 0}"


def write_tensors(path: Path, state: Mapping[str, object]) -> str:
    """Write what torch.save can write, atomically, and return the SHA-256 of it.

    The digest is in the file as well: it is the comment that a zip file may end with, so that
    torch.load reads the file as any other.
    """
    import torch  # not for readers of records

    packed = io.BytesIO()
    torch.save(state, packed)
    packed.truncate(packed.seek(-2, os.SEEK_END))  # the length of a comment that is not there
    digest = hashlib.sha256(packed.getbuffer()).hexdigest()
    packed.seek(0, os.SEEK_END)
    packed.write(_comment(digest))
    write_bytes(path, packed.getvalue())
    return digest


def read_tensors(path: Path, map_location: Any = "cpu") -> tuple[dict[str, Any], str]:
    """Return what `write_tensors` wrote, and its digest; nothing in it is executed.

    Raises:
        OSError, ValueError, RuntimeError, ...: it is missing or damaged; torch has many ways.
    """
    import torch

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        with memoryview(content) as view, view[:-ZIP_COMMENT] as packed:
            digest = hashlib.sha256(packed).hexdigest()
        if content[-ZIP_COMMENT:] != _comment(digest):
            raise ValueError(f"{path} does not have the digest that it was written with")
    return torch.load(path, map_location=map_location, weights_only=True), digest


def _comment(digest: str) -> bytes:
    return len(digest).to_bytes(2, "little") + digest.encode()


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal(record: Mapping[str, object]) -> dict[str, object]:
    """Return plain data with a digest of what it says: that of the JSON that it becomes."""
    return {**record, SEAL: _digest(record)}


def check_seal(record: Any) -> bool:
    """Whether this is what `seal` returned; NaN and null are the same, as in JSON."""
    if not isinstance(record, dict) or SEAL not in record:
        return False
    return bool(record[SEAL] == _digest({k: v for k, v in record.items() if k != SEAL}))


def _digest(record: Mapping[str, object]) -> str:
    text = json.dumps(finite(record), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_log(path: Path) -> str:
    """Return the text of a file of lines; "" where there is none, as nothing was logged yet.

    Bytes that are not UTF-8 are replaced, so that the check of each line names the damaged one.

    Raises:
        UserError: the system refused.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{path} cannot be read ({reason}): restore it") from error


def append_line(path: Path, line: str) -> None:
    """Append a line to a file.

    Raises:
        UserError: the folder or the disk does not take it.
    """
    with writing(path), path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def write_json(path: Path, value: Any) -> None:
    """Write plain data as JSON, atomically; NaN and infinities become null.

    What fits on a line stands on one.
    """
    write_text(path, _indented(finite(value), "") + "\n")


def _indented(value: Any, margin: str, key: str = "") -> str:
    line = key + json.dumps(value, allow_nan=False)
    if len(margin) + len(line) < COLUMNS or not isinstance(value, dict | list):
        return line
    inner = margin + " "
    if isinstance(value, dict):
        items = [_indented(item, inner, f"{json.dumps(name)}: ") for name, item in value.items()]
        opening, closing = "{}"
    else:
        items = [_indented(item, inner) for item in value]
        opening, closing = "[]"
    body = f",\n{inner}".join(items)
    return f"{key}{opening}\n{inner}{body}\n{margin}{closing}"


def finite(value: Any) -> Any:
    """Plain data with null in place of NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
