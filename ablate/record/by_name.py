"""Create a readable link to the folder of a run: results/by-name/<name>/<levels>-<seed>."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ablate.record.files import unfinished
from ablate.record.label import cut, digest

BY_NAME = "by-name"
UNREADABLE = re.compile(r"[^\w.+=,-]+")
LONGEST = 200  # characters; file systems allow 255 bytes


def link(results: Path, folder: Path, name: str, words: Sequence[str]) -> None:
    """Create a link with a readable name to the folder of a run, and replace an earlier link.

    Nothing happens if the file system does not support links, or if the name is taken by something
    that is not a link.

    Args:
        results: folder of all results.
        folder: folder of the run.
        name: name of the experiment.
        words: levels of the run, followed by its seed.
    """
    place = results / BY_NAME / UNREADABLE.sub("_", name) / _short(words)
    private = unfinished(place)
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        private.symlink_to(os.path.relpath(folder, place.parent), target_is_directory=True)
        try:
            os.replace(private, place)
        finally:
            private.unlink(missing_ok=True)


def _short(words: Sequence[str]) -> str:
    """Return a readable file name with the last word (the seed); the other words may be cut."""
    *first, last = words
    if not first:
        return UNREADABLE.sub("_", last)
    name = "-".join(first)
    readable = UNREADABLE.sub("_", name)
    if readable != name:  # {rate:0.5} and [rate:0.5] would otherwise have the same name
        readable += f"~{digest(name)}"
    return f"{cut(readable, LONGEST - len(last))}-{UNREADABLE.sub('_', last)}"
