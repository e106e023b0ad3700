"""Command lines as evidence records them: without the paths of one machine."""

import re
import shlex
from collections.abc import Iterable

PLACE = re.compile(r"(?<=[=\[,'\" ])[/~][^,\]'\"]*")


def command(overrides: Iterable[str], *flags: str) -> str:
    """Return the command with these overrides, without where one machine keeps its files.

    Folders of the project's own are left out; an absolute path, such as a corpus has, is FOLDER.
    """
    told = (PLACE.sub("FOLDER", word) for word in overrides if not word.startswith("paths."))
    return shlex.join(["python", "-m", "ablate", *told, *flags])
