"""What a results folder holds and nothing needs any more: `ablate clean` finds and removes it.

Every kind is a function from a results folder to paths. No kind but those that are asked for by
name touches what a verdict, a report or `ablate translate` reads.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ablate.data.cache import MANIFEST
from ablate.errors import UserError
from ablate.evidence.gather import SCREENING
from ablate.record.by_name import BY_NAME
from ablate.record.files import is_left_over
from ablate.record.links import read_links
from ablate.record.lock import take
from ablate.record.part import RESULTS
from ablate.record.sealed import RESULT, read_sealed
from ablate.record.types import Link
from ablate.wandb.note import OFFLINE, is_synced, read_note

VERDICT = "verdict.json"
LOCK = ".lock"


@dataclass(frozen=True)
class Folders:
    """The results and the cache that are cleaned."""

    results: Path
    cache: Path

    @property
    def runs(self) -> list[Path]:
        """The folders of all runs."""
        return [path for path in sorted(self.results.glob("runs/*")) if _is_folder(path)]

    @property
    def sweeps(self) -> list[Path]:
        """The folders of all sweeps."""
        return [path for path in sorted(self.results.glob("sweeps/*/*")) if _is_folder(path)]


@dataclass(frozen=True)
class Kind:
    """A kind of leftovers: why nothing needs them, and how they are found."""

    reason: str
    find: Callable[[Folders], Iterator[Path]]
    asked: bool = False  # only where it is named, as somebody may want to keep it


@dataclass(frozen=True)
class Leftover:
    """A path that can go, with its size in bytes."""

    kind: str
    path: Path
    size: int


def checkpoints(folders: Folders) -> Iterator[Path]:
    """Yield the states of runs that have ended."""
    for run in folders.runs:
        if _status(run) in RESULTS and (run / "checkpoints").is_dir():
            yield run / "checkpoints"


def failed(folders: Folders) -> Iterator[Path]:
    """Yield the runs that have failed."""
    return (run for run in folders.runs if _status(run) == "failed")


def unfinished(folders: Folders) -> Iterator[Path]:
    """Yield what processes of this machine that are gone were writing."""
    for folder in (folders.results, *folders.runs, *folders.sweeps, folders.cache / "tokens"):
        for pattern in (".*@*", "*/.*@*", "*/*/.*@*"):
            for path in sorted(folder.glob(pattern)):
                if is_left_over(path):
                    yield path


def locks(folders: Folders) -> Iterator[Path]:
    """Yield the files of locks, where no process holds any of them."""
    paths = sorted(folders.results.glob(f"locks/*{LOCK}"))
    if not any(_is_held(path) for path in paths):
        yield from paths


def stale_sweeps(folders: Folders) -> Iterator[Path]:
    """Yield the sweeps without a verdict whose runs are all gone."""
    for sweep in folders.sweeps:
        with suppress(UserError):  # nothing is known of a damaged sweep
            if not (sweep / VERDICT).exists() and _has_lost_its_runs(sweep, folders.results):
                yield sweep


def broken_names(folders: Folders) -> Iterator[Path]:
    """Yield the readable names of runs that are gone."""
    paths = sorted(folders.results.glob(f"{BY_NAME}/*/*"))
    return (path for path in paths if path.is_symlink() and not path.exists())


def uploaded(folders: Folders) -> Iterator[Path]:
    """Yield the offline folders of W&B that W&B has uploaded."""
    for run in folders.runs:
        notes = [read_note(path) for path in (run, *run.glob("tests/*/"))]
        sent = {note.get("id") for note in notes if note.get("url")}
        for offline in sorted(run.glob(OFFLINE)):
            if is_synced(offline) or offline.name.rpartition("-")[2] in sent:
                yield offline


def caches(folders: Folders) -> Iterator[Path]:
    """Yield the tokens of corpora."""
    return (path.parent for path in sorted(folders.cache.glob(f"tokens/*/{MANIFEST}")))


def weights(folders: Folders) -> Iterator[Path]:
    """Yield the weights of runs that have ended."""
    return (run / "weights.pt" for run in folders.runs if (run / "weights.pt").is_file())


def unused_runs(folders: Folders) -> Iterator[Path]:
    """Yield the runs that have ended and that no sweep names."""
    named = {run for sweep in folders.sweeps for link in _links(sweep) for run in _runs(link)}
    return (run for run in folders.runs if _status(run) in RESULTS and run.name not in named)


# Whole runs come first: a part of what goes as a whole is not named again. Locks come last, as
# whoever removes a part of a run holds one.
KINDS = {
    "unused_runs": Kind(
        "no sweep names it; the same command would train it again", unused_runs, asked=True
    ),
    "checkpoints": Kind("the run has ended, so it will not go on from a saved state", checkpoints),
    "failed": Kind("a failure is no result; the same command begins the run anew", failed),
    "unfinished": Kind("half a file of a process that is gone", unfinished),
    "stale_sweeps": Kind("it has no verdict, and all its runs are gone", stale_sweeps),
    "broken_names": Kind("the run that it leads to is gone", broken_names),
    "uploaded": Kind("W&B has the run", uploaded),
    "caches": Kind("the next run makes it again from the corpus", caches),
    "weights": Kind(
        "no verdict needs it, but ablate translate does, and another test would train anew",
        weights,
        asked=True,
    ),
    "locks": Kind("no process holds it; it is made again when needed", locks),
}


def find_leftovers(folders: Folders, kinds: list[str]) -> list[Leftover]:
    """Return all leftovers of these kinds, each path once.

    Raises:
        UserError: the folder does not hold results, or a sweep is damaged that may name a run.
    """
    if not any((folders.results / name).is_dir() for name in ("runs", "sweeps")):
        raise UserError(f"results={folders.results}: it holds neither runs nor sweeps")
    found: dict[Path, Leftover] = {}
    for name in (name for name in KINDS if name in kinds):
        for path in KINDS[name].find(folders):
            if not any(parent in found for parent in (path, *path.parents)):
                found[path] = Leftover(name, path, _size(path))
    return list(found.values())


def remove(leftover: Leftover, results: Path) -> bool:
    """Remove a leftover; return False where a process is at its run.

    Raises:
        OSError: the system refuses.
    """
    with _alone_at(leftover.path, results) as alone:
        if alone and _is_folder(leftover.path):
            shutil.rmtree(leftover.path)
        elif alone:
            leftover.path.unlink(missing_ok=True)
    return alone


@contextmanager
def _alone_at(path: Path, results: Path) -> Iterator[bool]:
    """Hold the lock of the run that a path belongs to; yield False where a process holds it."""
    runs = results / "runs"
    if runs not in path.parents:
        yield True
        return
    lock_path = results / "locks" / f"{path.relative_to(runs).parts[0]}{LOCK}"
    new = not lock_path.exists()
    lock = take(lock_path)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            if new:
                lock_path.unlink(missing_ok=True)
            lock.release()


def _status(run: Path) -> str | None:
    """Return the status of a run; None where it has not ended or its result is damaged."""
    with suppress(OSError, UserError):
        status = read_sealed(run / RESULT)["status"]
        return str(status)
    return None


def _links(sweep: Path) -> list[Link]:
    """Return the cells of a sweep and the runs that tuned it.

    Raises:
        UserError: one of them is damaged.
    """
    return [*read_links(sweep / SCREENING), *read_links(sweep)]


def _has_lost_its_runs(sweep: Path, results: Path) -> bool:
    runs = [name for link in _links(sweep) for name in _runs(link)]
    return bool(runs) and not any((results / "runs" / name).exists() for name in runs)


def _runs(link: Link) -> Iterator[str]:
    ends = (link, link["short"]) if "short" in link else (link,)
    return (str(end["training"]) for end in ends if "training" in end)


def _is_held(path: Path) -> bool:
    lock = take(path)
    if lock is not None:
        lock.release()
    return lock is None


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _size(path: Path) -> int:
    """Return the bytes of a file or of all files of a folder; links are not followed."""
    if not _is_folder(path):
        return path.lstat().st_size
    files = (Path(parent, name) for parent, _, names in os.walk(path) for name in names)
    return sum(file.lstat().st_size for file in files)
