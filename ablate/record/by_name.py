"""A readable way to the folder of a run: results/by-name/<name>/<levels>-<seed>, a link to it."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ablate.record.files import unfinished
from ablate.record.label import cut, digest

BY_NAME = "by-name"
UNREADABLE = re.compile(r"[^\w.+=,-]+")
LONGEST = 200  # characters; file systems end at 255 bytes


def link(results: Path, folder: Path, name: str, words: Sequence[str]) -> None:
    """Let a name lead to a run's folder; the newest run of a name has it.

    Where the file system takes no links, or something else has the name, there is none.
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
    """The last word, which is the seed, stays whatever the length of the others."""
    *first, last = words
    if not first:
        return UNREADABLE.sub("_", last)
    name = "-".join(first)
    readable = UNREADABLE.sub("_", name)
    if readable != name:  # {rate:0.5} and [rate:0.5] would lead to one run
        readable += f"~{digest(name)}"
    return f"{cut(readable, LONGEST - len(last))}-{UNREADABLE.sub('_', last)}"
