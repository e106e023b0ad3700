"""Find the user's config folders: the folder of --config-dir, and the folders in
hydra.searchpath=[...].
"""

import importlib.resources
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

SEARCHED = "hydra.searchpath="


def config_folders(config_dir: str | None, words: Sequence[str]) -> list[str]:
    """Return the config folders that a command line names.

    Args:
        config_dir: the value of --config-dir.
        words: overrides, which may include hydra.searchpath.
    """
    given = [word.partition("=") for word in words if word.lstrip("+").startswith(SEARCHED)]
    entries = (entry for _, _, value in given for entry in value.strip("[]").split(","))
    folders = (_path(entry.strip(" '\"")) for entry in entries)
    return [folder for folder in (config_dir, *folders) if folder]


def _path(entry: str) -> str:
    """Return the folder that an item of hydra.searchpath names: file://FOLDER, FOLDER, or
    pkg://PACKAGE; "" if the package is not installed.
    """
    if not entry.startswith("pkg://"):
        return os.path.expanduser(entry).removeprefix("file://")
    with suppress(ImportError, TypeError):
        return str(Path(str(importlib.resources.files(entry.removeprefix("pkg://")))))
    return ""
