"""Command lines as evidence records them: without the paths of one machine."""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

CONFIG_DIR = "--config-dir"
PLACE = re.compile(r"(?<=[=\[,'\" ])[/~][^,\]'\"]*")
ELSEWHERE = "FOLDER"


def command(overrides: Iterable[str], *flags: str, config_dirs: Iterable[str] = ()) -> str:
    """Return the command with these overrides, without where one machine keeps its files.

    Folders of the project's own are left out; an absolute path, such as a corpus has, is FOLDER. A
    folder with config files of the user is named as seen from the current folder.
    """
    told = (PLACE.sub(ELSEWHERE, word) for word in overrides if not word.startswith("paths."))
    folders = [word for path in config_dirs for word in (CONFIG_DIR, _relative(Path(path)))]
    return shlex.join(["python", "-m", "ablate", *folders, *told, *flags])


def _relative(path: Path) -> str:
    """Return a path below the current folder as it is seen from there, and FOLDER of another."""
    here, path = Path.cwd(), path.absolute()
    return str(path.relative_to(here)) if path.is_relative_to(here) else ELSEWHERE
