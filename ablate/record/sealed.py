"""Read the stored result of a run after checking the seal (a digest of the result in result.json)
and the digests of the files that belong to the result.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.record.files import SEAL, check_seal, digest_of, lies_in
from ablate.record.types import Result

RESULT = "result.json"


def digests(folder: Path, patterns: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of every file that matches a pattern, by its path within the folder."""
    paths = sorted(path for pattern in patterns for path in folder.glob(pattern))
    return {str(path.relative_to(folder)): digest_of(path) for path in paths}


def read_sealed(path: Path, remedy: str = "") -> Any:
    """Return the object in a sealed file, without the seal.

    Args:
        path: the file.
        remedy: what to do if the file is damaged, for the message.

    Raises:
        FileNotFoundError: the file does not exist.
        UserError: the file was changed after it was written.
    """
    advice = f": {remedy}" if remedy else ""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({type(error).__name__}){advice}") from None
    if not check_seal(record):
        raise UserError(f"{path} is damaged or was edited (its checksum does not match){advice}")
    return {key: value for key, value in record.items() if key != SEAL}


def read_result(folder: Path, identity: str | None = None) -> Result | None:
    """Return the result in the folder of a training or an evaluation; None if there is none.

    All files that the result names are verified. Weights are not among them, because they are
    verified when they are loaded.

    Raises:
        UserError: the result or one of its files was changed after it was written, belongs to
            another `identity`, or is outside the folder.
    """
    try:
        result: Result = read_sealed(folder / RESULT)
    except FileNotFoundError:
        return None
    if not isinstance(result.get("files"), dict):
        raise UserError(
            f"{folder / RESULT} is not the result of a run: it lists no files; restore it, or "
            "remove the folder"
        )
    if identity is not None and result["identity"] != identity:
        raise UserError(
            f"{folder / RESULT} belongs to another run, {result['identity']}: remove the folder"
        )
    for name, digest in result["files"].items():
        if not lies_in(folder / name, folder):
            raise UserError(
                f"{folder / RESULT} lists {name}, which is outside of {folder}: remove {folder}"
            )
        check_file(folder / name, digest)
    return result


def check_file(path: Path, digest: str) -> None:
    """Raise UserError for a file that is missing or has a different SHA-256."""
    try:
        same = digest_of(path) == digest
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror})") from None
    if not same:
        raise UserError(
            f"{path} is damaged or was edited (its SHA-256 differs from the one in {RESULT})"
        )
