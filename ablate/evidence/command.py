"""Format the command that made a run, without machine-specific paths, for committed evidence."""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

CONFIG_DIR = "--config-dir"
PLACE = re.compile(r"(?<=[=\[,'\" ])[/~][^,\]'\"]*")
ELSEWHERE = "FOLDER"


def command(overrides: Iterable[str], *flags: str, config_dirs: Iterable[str] = ()) -> str:
    """Return the `python -m ablate` command with these overrides, without machine-specific paths.

    Overrides of the keys `paths.*` are left out. Any other absolute path, such as the path of a
    corpus, becomes FOLDER. A folder with the user's config files is written relative to the current
    folder.
    """
    portable = (PLACE.sub(ELSEWHERE, word) for word in overrides if not word.startswith("paths."))
    folders = [word for path in config_dirs for word in (CONFIG_DIR, _relative(Path(path)))]
    return shlex.join(["python", "-m", "ablate", *folders, *portable, *flags])


def _relative(path: Path) -> str:
    """Return a path relative to the current folder, or the word "FOLDER" if the path is not in this
    folder.
    """
    here, path = Path.cwd(), path.absolute()
    return str(path.relative_to(here)) if path.is_relative_to(here) else ELSEWHERE
