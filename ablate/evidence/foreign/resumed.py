"""Join the folders of a run that Lightning has resumed.

Lightning logs each start of a program into a new folder: version_0, version_1, ... A run that is
resumed from a checkpoint, or that is tested later, therefore has several folders. A folder belongs
to the run of an earlier folder beside it if both have the same hyperparameters, and if its first
step is later than the first step of that run: a run of its own would begin where others begin.
"""

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ablate.evidence.foreign.builder import RUN, RunLog
from ablate.evidence.foreign.table import Row, number_of

SETTINGS = "hparams.yaml"
# columns that are no metrics: Lightning writes hp_metric at step 0 of every folder
BESIDE = {"hp_metric", "_wall_time", "epoch"}
VERSION = re.compile(r"(.*?)version_(\d+)")


def join_resumed(root: Path, logs: Sequence[RunLog], step: str, notes: list[str]) -> list[RunLog]:
    """Return the runs, in which the folders of a resumed run are one run.

    Args:
        root: folder that contains the folders of the runs.
        logs: a log for each folder, with a row for each step.
        step: name of the column with the step.
        notes: remarks about the source, to which a sentence for each joined folder is added.
    """
    joined: dict[str, RunLog] = {}
    for log in sorted(logs, key=lambda log: _version(log)[1]):
        name, first = str(log.about[RUN]), _first(log.results, step)
        place = _version(log)[0]
        before = [
            run
            for run, other in joined.items()
            if place is not None
            and _version(other)[0] == place
            and _settings(root / run) == _settings(root / name)
            and _first(other.results, step) < first
        ]
        if not before:
            joined[name] = log
            continue
        whole = joined[before[-1]]
        rows = _continued(whole.results, log.results, step)
        joined[before[-1]] = whole._replace(results=rows)
        notes.append(
            f"{name} begins at step {first:g}, so it counts as the continuation of {before[-1]}: "
            "Lightning logs a run that is resumed or tested later into a new folder."
        )
    return [joined[str(log.about[RUN])] for log in logs if str(log.about[RUN]) in joined]


def _version(log: RunLog) -> tuple[str | None, int]:
    """Return the folder around the folder of a version, and the number of the version; None and 0
    for another folder.
    """
    match = VERSION.fullmatch(str(log.about[RUN]))
    return (match[1], int(match[2])) if match else (None, 0)


def _settings(folder: Path) -> bytes:
    path = folder / SETTINGS
    return path.read_bytes() if path.is_file() else b""


def _step(row: Row, step: str) -> float:
    number = number_of(row.get(step, ""))
    return math.nan if number is None else number


def _first(rows: Iterable[Row], step: str) -> float:
    """Return the first step with a metric; NaN, which is later than no step, if there is none."""
    by_column = _first_by_column(rows, step)
    return min((x for name, x in by_column.items() if name not in BESIDE), default=math.nan)


def _first_by_column(rows: Iterable[Row], step: str) -> dict[str, float]:
    """Return the first step with a value for each column."""
    first: dict[str, float] = {}
    for row in rows:
        if not math.isnan(number := _step(row, step)):
            names = (name for name, value in row.items() if value != "" and name != step)
            first |= {name: min(number, first.get(name, math.inf)) for name in names}
    return first


def _continued(before: Sequence[Row], after: Sequence[Row], step: str) -> list[Row]:
    """Return the rows of a run and of its continuation, which replaces later values of each
    column.
    """
    first = _first_by_column(after, step)
    kept = [
        {c: x for c, x in row.items() if not _step(row, step) >= first.get(c, math.inf)}
        for row in before
    ]
    return [*kept, *after]
