"""Find the user's config folders: the folder of --config-dir, and the folders in
hydra.searchpath=[...].
"""

import importlib.resources
import os
from collections.abc import Sequence
from contextlib import suppress

from ablate.errors import UserError

SEARCHED = "hydra.searchpath="


def config_folders(config_dir: str | None, words: Sequence[str]) -> list[str]:
    """Return the config folders that a command line names.

    Args:
        config_dir: the value of --config-dir.
        words: overrides, which may include hydra.searchpath.

    Raises:
        UserError: a folder does not exist.
    """
    given = [word.partition("=")[2] for word in words if word.lstrip("+").startswith(SEARCHED)]
    entries = [entry.strip(" '\"") for value in given for entry in value.strip("[]").split(",")]
    folders = [_path(entry) for entry in (config_dir, *entries) if entry]
    for folder in folders:
        if not os.path.isdir(folder or "."):
            raise UserError(f"{folder}: there is no such folder; give a folder with config groups")
    return [folder for folder in folders if folder]


def _path(entry: str) -> str:
    """Return the folder that an item of hydra.searchpath names: file://FOLDER, FOLDER, or
    pkg://PACKAGE; "" if the package is not installed.
    """
    if not entry.startswith("pkg://"):
        return entry.removeprefix("file://")
    with suppress(ImportError, TypeError):
        return str(importlib.resources.files(entry.removeprefix("pkg://")))
    return ""
