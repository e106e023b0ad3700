"""Read files that a user gives, and turn errors of the parsers into messages with the path."""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ablate.data.text import read_raw_text, read_text
from ablate.errors import UserError


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Turn an error in a `with` block that reads a file into a UserError that names the file.

    Raises:
        UserError: the file cannot be read, is not UTF-8 (with the line), or is nested too deeply.
    """
    try:
        yield
    except UnicodeDecodeError:
        read_raw_text(path)  # raises a UserError with the line and the byte
        raise
    except RecursionError:
        raise UserError(f"{path} cannot be read: it is nested too deeply") from None
    except (OSError, EOFError, zlib.error) as error:  # a damaged gzip file raises the last two
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path} cannot be read: {reason}") from None


def folder_of(place: str | Path, content: str) -> Path:
    """Return the path of a folder that a user gives.

    Args:
        place: the path, which may begin with ~.
        content: the content that the folder must have, for the message.

    Raises:
        UserError: the folder does not exist.
    """
    root = Path(place).expanduser()
    if not root.exists():
        raise UserError(f"{root}: there is no such folder; give one with {content}")
    return root


def path_columns(root: Path, folder: Path) -> dict[str, object]:
    """Return the columns `run`, the path of the folder of a run within another folder, and
    `folder_1`, `folder_2`, ..., the names in this path.
    """
    inner = folder.relative_to(root)
    names = {f"folder_{k}": part for k, part in enumerate(inner.parts, 1)}
    return {"run": inner.as_posix(), **names}


def files_below(root: Path, pattern: str) -> list[Path]:
    """Return every file below a folder whose name matches a pattern, sorted.

    Links to folders are followed. Of several paths to a folder, only the first counts, and paths
    without links come first.
    """
    folders = {path.parent.resolve(): path.parent for path in root.glob(f"**/{pattern}")}
    visited: set[str] = set()
    for folder, names, _ in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        names[:] = [] if real in visited else sorted(names)
        visited.add(real)
        folders.setdefault(Path(real), Path(folder))
    return sorted(path for folder in folders.values() for path in folder.glob(pattern))


def read_yaml(path: Path) -> Any:
    """Return the data in a YAML file; tags for Python objects are rejected.

    Raises:
        UserError: the file is missing, not UTF-8, or not YAML.
    """
    import yaml

    try:
        with named(path):
            return yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise UserError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from None
