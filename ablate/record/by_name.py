"""Create a readable link to the folder of a run: results/by-name/<name>/<levels>-<seed>."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress

from ablate.record.arm import distinct_levels
from ablate.record.files import unfinished
from ablate.record.label import cut, digest, words_of
from ablate.record.training import Record

BY_NAME = "by-name"
UNREADABLE = re.compile(r"[^\w.+=,-]+")
LONGEST = 200  # characters; file systems allow 255 bytes


def link_by_name(record: Record, *, short: bool) -> None:
    """Create a readable symbolic link to a run's folder, named by the experiment, the arm and the
    seed, and replace an earlier link.

    The link of a tuning run also names the tuned values. `short` adds the word "short" to the name.
    Nothing happens if the file system does not support links, or if the name is taken by something
    that is not a link.
    """
    config, folder = record.config, record.folder
    if not record.writes:
        return
    levels = distinct_levels(config, tuned=not config.test_splits)
    replicate = f"{config.replicate}." if config.replicate else ""
    words = [*words_of(levels, "="), *(["short"] if short else []), f"{replicate}{config.seed}"]
    place = record.results / BY_NAME / UNREADABLE.sub("_", config.name) / _short(words)
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
