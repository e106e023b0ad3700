"""What a sweep remembers of its cells: a file each, that says which run it became."""

import itertools
from pathlib import Path

from ablate.record.label import value_text
from ablate.record.sealed import read_sealed
from ablate.record.types import Link

LOGGER_FAILURES = "logger_failures.txt"  # of a run: a line for each logger that has failed


def link_path(sweep: Path, number: int) -> Path:
    """The file by which a sweep remembers the run of one of its cells."""
    return sweep / "cells" / f"{number:04d}.json"


def read_links(sweep: Path) -> list[Link]:
    """All cells of a sweep, in order.

    Raises:
        UserError: what was written of a cell was changed since.
    """
    return [read_sealed(path) for path in sorted((sweep / "cells").glob("*.json"))]


def swept(runs: list[Link]) -> list[str]:
    """Factors whose level differs between runs."""
    keys = dict.fromkeys(itertools.chain.from_iterable(run["levels"] for run in runs))
    return [k for k in keys if len({value_text(run["levels"].get(k)) for run in runs}) > 1]
