"""Read the files in which a sweep stores the outcome of each of its runs."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ablate.record.label import value_text
from ablate.record.sealed import read_sealed
from ablate.record.types import Link

IDENTITY = "identity.json"  # file of a run or an evaluation: everything that determines its results
LOGGER_FAILURES = "logger_failures.txt"  # file of a run: one line for each failed logger


def link_path(sweep: Path, number: int) -> Path:
    """Return the path of the file in which a sweep stores the outcome of run `number`."""
    return sweep / "cells" / f"{number:04d}.json"


def read_links(sweep: Path) -> list[Link]:
    """Return the outcomes of all runs of a sweep, in order of their numbers.

    If the results folder was moved, or if the path of a run is relative to another current folder,
    the outcomes name the folders in which the runs are now.

    Raises:
        UserError: a file was changed after it was written.
    """
    links = [read_sealed(path) for path in sorted((sweep / "cells").glob("*.json"))]
    return [_relocated(link, sweep) for link in links]


def _relocated(outcome: Any, sweep: Path) -> Any:
    """Return an outcome, with the present folder of its run if the run has moved.

    The present folder is that of the run in the results folder of the sweep.
    """
    before = Path(outcome.get("folder", ""))
    places = (parent / "runs" / before.name for parent in sweep.absolute().parents)
    now = None if before.exists() else next((place for place in places if place.exists()), None)
    if now is None:
        return outcome
    moved = {**outcome, "folder": str(now)}
    if "evaluation" in outcome:
        moved["evaluation"] = str(now / Path(outcome["evaluation"]).relative_to(before))
    if "short" in outcome:
        moved["short"] = _relocated(outcome["short"], sweep)
    return moved


def executed_source(link: Link) -> Iterator[tuple[str, str]]:
    """Yield each module that a run and its evaluation executed, and the hash of its source.

    Yield nothing for a failed run.
    """
    ends: tuple[Any, ...] = (link, link.get("short", {}))
    for folder in (end[key] for end in ends for key in ("folder", "evaluation") if key in end):
        parts = json.loads(Path(folder, IDENTITY).read_text(encoding="utf-8"))
        yield from parts["modules"].items()


def swept(runs: list[Link]) -> list[str]:
    """Return the factors whose level differs between runs."""
    keys = dict.fromkeys(itertools.chain.from_iterable(run["levels"] for run in runs))
    return [k for k in keys if len({value_text(run["levels"].get(k)) for run in runs}) > 1]
