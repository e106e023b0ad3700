"""Check the folders of the cache and of the results."""

import json
import os
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path

from ablate.doctor.diagnosis import Diagnosis, size
from ablate.doctor.machine import nearest
from ablate.errors import UserError
from ablate.record.files import check_writable
from ablate.record.identity import outdated
from ablate.record.sealed import RESULT, read_sealed

LEAST = 1e9  # minimum of free bytes; a sweep of the built-in corpus writes some hundred megabytes
UNFINISHED, DAMAGED = "unfinished", "damaged"


def look_at_cache(cache: Path) -> Diagnosis:
    """Diagnose the cache folder: its size, the free disk space, and whether it can be written."""
    seen = f"{size(_bytes(cache))} in {cache}, {_free(cache)} free on its disk"
    return Diagnosis("cache", seen, *_trouble(cache, "paths.cache"))


def look_at_results(results: Path) -> Diagnosis:
    """Diagnose the results folder: the number of runs by state, the number of runs made with other
    versions of code or libraries, and the first problem, with advice.
    """
    runs = [path for path in sorted(results.glob("runs/*")) if path.is_dir()]
    states = Counter(_state(run) for run in runs)
    old = sum(_is_old(run) for run in runs)
    parts = [f"{count} {state}" for state, count in sorted(states.items())]
    if old:
        parts.append(f"{old} by other code or libraries than those of today")
    seen = f"{_runs(len(runs))} in {results}" + (f" ({', '.join(parts)})" if parts else "")
    trouble = _trouble(results, "paths.results")
    if not trouble and states[DAMAGED]:
        advice = "delete their folders in runs/; the same command trains them again"
        trouble = (f"{_runs(states[DAMAGED])} with a damaged or edited result", advice)
    if not trouble and old:
        advice = "keep them if reports need them, else see docs/howto/clean.md"
        trouble = (f"the same command would train {_runs(old)} again", advice)
    return Diagnosis("results", seen, *trouble)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _trouble(folder: Path, key: str) -> tuple[str, str] | tuple[()]:
    """Return the problem of a folder (not writable, or a full disk) and the advice; () without a
    problem.

    `key` is the config key that sets the folder.
    """
    try:
        check_writable(nearest(folder))
    except UserError as error:
        return str(error), f"choose another folder with {key}=FOLDER"
    free = shutil.disk_usage(nearest(folder)).free
    if free < LEAST:
        advice = f"make room (ablate clean), or choose another disk with {key}=FOLDER"
        return f"only {size(free)} are free on its disk", advice
    return ()


def _free(folder: Path) -> str:
    return size(shutil.disk_usage(nearest(folder)).free)


def _bytes(folder: Path) -> int:
    paths = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return sum(path.lstat().st_size for path in paths if path.exists())


def _state(run: Path) -> str:
    try:
        return str(read_sealed(run / RESULT)["status"])
    except FileNotFoundError:
        return UNFINISHED
    except (UserError, KeyError):
        return DAMAGED


def _is_old(run: Path) -> bool:
    """Return whether a run was made with code or libraries that differ from the installed versions;
    False if its identity.json cannot be read.
    """
    with suppress(OSError, ValueError, KeyError, AttributeError):
        return outdated(json.loads((run / "identity.json").read_text(encoding="utf-8")))
    return False
