"""Write and lock files, and detect changes of written files.

A seal is a digest of a JSON object's content, stored in the object. A seal detects damage and
careless edits. A seal is not a signature: it contains no secret, so a forger can compute a new
seal.
"""

import hashlib
import io
import json
import os
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic_core import to_jsonable_python

from ablate.errors import UserError

WANDB = "wandb"  # W&B's folder: its logs are links to other folders, and only W&B reads them
SEAL, SEAL_DIGITS = "seal", 64


def check_links(folder: Path, within: Path) -> None:
    """Check that a folder has no links that lead outside, and no pipes or devices.

    Args:
        folder: the folder to search.
        within: the folder out of which no link may lead.

    Raises:
        UserError: the folder or an entry below it is a symbolic link that leads out of `within`;
            or an entry is neither a file nor a folder.
    """
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in (*folders, *files))):
            if path.is_symlink() and not lies_in(path, within):
                raise UserError(f"{path} is a link that leads out of {within}: it is not followed")
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise UserError(f"{path} is neither a file nor a folder: it is not read")
        folders[:] = [name for name in folders if name != WANDB]


def lies_in(path: Path, folder: Path) -> bool:
    """Return whether a path leads into a folder after resolving symbolic links."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write named arrays as an .npz file, atomically.

    The file contains no date, so the same arrays give the same bytes.
    """
    import numpy as np  # readers of verdicts do not need it

    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    write_bytes(path, packed.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: a temporary file is renamed over it."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically, in a folder that is created if necessary."""
    private = path.with_name(f".{path.name}.{uuid.uuid4().hex}@")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with private.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(private, path)
    finally:
        private.unlink(missing_ok=True)


def write_tensors(path: Path, state: Mapping[str, object]) -> str:
    """Save tensors atomically with torch.save, and return the SHA-256 of the file."""
    import torch  # slow to import, and readers of records do not need it

    packed = io.BytesIO()
    torch.save(state, packed)
    write_bytes(path, packed.getvalue())
    return hashlib.sha256(packed.getbuffer()).hexdigest()


def read_tensors(path: Path, map_location: Any = "cpu") -> tuple[dict[str, Any], str]:
    """Return the tensors in a file, and the SHA-256 of the file; no code from the file is executed.

    Raises:
        OSError, ValueError, RuntimeError, ...: the file is missing or damaged; torch raises many
            types of errors.
    """
    import torch

    content = path.read_bytes()
    # torch stores a checksum of each tensor, but does not compare it
    if damaged := zipfile.ZipFile(io.BytesIO(content)).testzip():
        raise ValueError(f"{path}: {damaged} does not have the checksum that it was written with")
    state = torch.load(io.BytesIO(content), map_location=map_location, weights_only=True)
    return state, hashlib.sha256(content).hexdigest()


def read_weights(path: Path, digest: str | None = None) -> dict[str, Any]:
    """Return the weights in a file, by parameter name.

    Args:
        path: the file.
        digest: SHA-256 that the result of the run states; None to skip this check.

    Raises:
        UserError: the file is missing or damaged, contains more than tensors,
            or does not match `digest`.
    """
    try:
        weights, actual = read_tensors(path)
    except Exception as error:  # damage raises many types of exceptions
        raise UserError(f"{path} is damaged or missing ({type(error).__name__})") from None
    if digest is not None and actual != digest:
        raise UserError(f"{path} has the weights of another run")
    return weights


def load_weights(module: Any, path: Path, digest: str | None = None) -> None:
    """Load the weights of a run into its model.

    Args:
        module: the model.
        path: the file with the weights.
        digest: SHA-256 that the result of the run states; None to skip this check.

    Raises:
        UserError: the file is missing, damaged, from another run, or does not fit the model.
    """
    weights = read_weights(path, digest)
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(f"{path} has the weights of another model: {error}") from None


def digest(value: Any, digits: int = 16) -> str:
    """Return a hash of plain data with some hexadecimal digits, independent of the order of keys.

    NaN and null count as equal, because JSON has no NaN.
    """
    text = json.dumps(finite(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal(record: Mapping[str, object]) -> dict[str, object]:
    """Return an object with a seal: a digest of its content."""
    return {**record, SEAL: digest(record, SEAL_DIGITS)}


def unsealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without its seal."""
    return {key: value for key, value in record.items() if key != SEAL}


def check_seal(record: Any) -> bool:
    """Return whether the seal of an object matches its content."""
    return isinstance(record, dict) and record == seal(unsealed(record))


def digests(folder: Path, patterns: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of every file that matches a pattern, by its path within the folder."""
    paths = sorted(path for pattern in patterns for path in folder.glob(pattern))
    return {str(path.relative_to(folder)): digest_of(path) for path in paths}


def read_sealed(path: Path) -> Any:
    """Return the object in a sealed file, without the seal.

    Raises:
        FileNotFoundError: the file does not exist.
        UserError: the file was changed after it was written.
    """
    record: Any = None
    with suppress(ValueError):
        record = json.loads(path.read_text(encoding="utf-8"))
    if not check_seal(record):
        raise UserError(f"{path} is damaged or was edited (its checksum does not match)")
    return unsealed(record)


def read_log(path: Path) -> str:
    """Return the text of a log file; "" if the file does not exist, because nothing was logged yet.

    Bytes that are not UTF-8 are replaced, so that the later check of each line finds the damaged
    line.
    """
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def append_line(path: Path, line: str) -> None:
    """Append a line to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def write_json(path: Path, value: Any) -> None:
    """Write plain data as JSON, atomically; NaN and infinities become null."""
    write_text(path, json.dumps(finite(value), indent=1) + "\n")


def finite(value: Any) -> Any:
    """Return plain data with None in place of NaN and infinities, because JSON does not have
    them.
    """
    return to_jsonable_python(value, inf_nan_mode="null")


def acquire(path: Path, work: str) -> AbstractContextManager[Any]:
    """Wait until no other process holds the lock, and hold it until the returned context ends.

    Args:
        path: the lock file.
        work: what another process does while it holds the lock, for the message.
    """
    if (lock := take(path)) is None:
        print(f"another process is {work}; waiting for {path}", flush=True)
        lock = FileLock(path).acquire()
    return lock


def take(path: Path) -> AbstractContextManager[Any] | None:
    """Return a lock, which is held until the returned context ends; None if another process or
    thread holds the lock.
    """
    with suppress(Timeout):
        return FileLock(path).acquire(timeout=0)
    return None
