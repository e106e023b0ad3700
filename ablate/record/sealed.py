"""Reading what a run has left, with nothing taken on trust: its seal and its files are checked."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.record.files import SEAL, check_seal, digest_of, lies_in
from ablate.record.types import Result

RESULT = "result.json"


def digests(folder: Path, patterns: Iterable[str]) -> dict[str, str]:
    """SHA-256 of every file of a folder that fits one of the patterns, by its name there."""
    paths = sorted(path for pattern in patterns for path in folder.glob(pattern))
    return {str(path.relative_to(folder)): digest_of(path) for path in paths}


def read_sealed(path: Path) -> Any:
    """Return the object of a sealed file, without the seal.

    Raises:
        FileNotFoundError: there is none.
        UserError: it was changed since it was written.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({type(error).__name__})") from None
    if not check_seal(found):
        raise UserError(f"{path} is damaged or was edited (its seal does not fit what it says)")
    return {key: value for key, value in found.items() if key != SEAL}


def read_result(folder: Path, identity: str | None = None) -> Result | None:
    """Return the result in the folder of a training or an evaluation; None where there is none.

    Weights are checked when they are read. Every other file that the result names is checked here.

    Raises:
        UserError: the result or one of its files was changed since it was written, it is not of
            this `identity`, or it names a file elsewhere.
    """
    try:
        found: Result = read_sealed(folder / RESULT)
    except FileNotFoundError:
        return None
    if not isinstance(found.get("files"), dict):
        raise UserError(f"{folder / RESULT} is not the result of a run: it names no files")
    if identity is not None and found["identity"] != identity:
        raise UserError(f"{folder / RESULT} belongs to another run, {found['identity']}")
    for name, digest in found["files"].items():
        if not lies_in(folder / name, folder):
            raise UserError(f"{folder / RESULT} names {name}, which is outside of its folder")
        check_file(folder / name, digest)
    return found


def check_file(path: Path, digest: str) -> None:
    """Raise UserError for a file that is missing or has another SHA-256."""
    try:
        same = digest_of(path) == digest
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror})") from None
    if not same:
        raise UserError(f"{path} is damaged or was edited (its SHA-256 is not that of the record)")
