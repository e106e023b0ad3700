"""Read the files in which a sweep stores the outcome of each of its runs."""

import itertools
from pathlib import Path

from ablate.record.label import value_text
from ablate.record.sealed import read_sealed
from ablate.record.types import Link

LOGGER_FAILURES = "logger_failures.txt"  # file of a run: one line for each failed logger


def link_path(sweep: Path, number: int) -> Path:
    """Return the path of the file in which a sweep stores the outcome of run `number`."""
    return sweep / "cells" / f"{number:04d}.json"


def read_links(sweep: Path) -> list[Link]:
    """Return the outcomes of all runs of a sweep, in order of their numbers.

    Raises:
        UserError: a file was changed after it was written.
    """
    return [read_sealed(path) for path in sorted((sweep / "cells").glob("*.json"))]


def swept(runs: list[Link]) -> list[str]:
    """Return the factors whose level differs between runs."""
    keys = dict.fromkeys(itertools.chain.from_iterable(run["levels"] for run in runs))
    return [k for k in keys if len({value_text(run["levels"].get(k)) for run in runs}) > 1]
