"""Writing files so that a reader never sees half of one."""

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ablate.errors import UserError

FILE_NAME = re.compile(r"\w[\w .+=,-]*")
WANDB = "wandb"  # W&B's own folder: its logs are links to elsewhere, and only W&B reads them


def check_name(key: str, name: str) -> None:
    """Raise UserError for a name that is to become that of a file, and is none."""
    if not FILE_NAME.fullmatch(name):
        raise UserError(
            f"{key}={name}: files are named after it, so it must begin with a letter or a digit "
            "and hold nothing but these, spaces and _ . + = , -"
        )


def check_links(folder: Path, within: Path) -> None:
    """Refuse a folder in which something would be read or written elsewhere.

    Raises:
        UserError: a symbolic link, the folder itself or one below it, leads out of `within`.
    """
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in (*folders, *files))):
            if path.is_symlink() and not path.resolve().is_relative_to(within.resolve()):
                raise UserError(f"{path} is a link that leads out of {within}: it is not followed")
        folders[:] = [name for name in folders if name != WANDB]


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


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: a temporary file beside it is renamed over it."""
    write_bytes(path, text.encode())


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write named arrays as an .npz that `np.load` reads, atomically; twice the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            member = zipfile.ZipInfo(f"{name}.npy")  # without a date
            file.writestr(member, content.getvalue(), zipfile.ZIP_LZMA)
    write_bytes(path, packed.getvalue())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or nothing.

    Raises:
        UserError: the folder or the disk does not take it.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with unfinished.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)


def write_tensors(path: Path, state: dict[str, Any]) -> None:
    """Write what torch.save can write, atomically."""
    import torch  # not for readers of records

    packed = io.BytesIO()
    torch.save(state, packed)
    write_bytes(path, packed.getvalue())


def append_line(path: Path, line: str) -> None:
    """Append a line to a file.

    Raises:
        UserError: the folder or the disk does not take it.
    """
    with writing(path), path.open("a") as file:
        file.write(f"{line}\n")


def write_json(path: Path, value: Any) -> None:
    """Write plain data as indented JSON, atomically; NaN and infinities become null."""
    write_text(path, json.dumps(finite(value), indent=2, allow_nan=False) + "\n")


def finite(value: Any) -> Any:
    """Plain data with null in place of NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
