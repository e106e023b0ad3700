"""Find and remove files in a results folder that are no longer needed, for `ablate clean`.

For each kind of such files, a function yields their paths. Files that a verdict, a report or
`ablate translate` may still read are removed only if the user names their kind.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.gather import SCREENING
from ablate.evidence.seal import file_of_runs
from ablate.record.by_name import BY_NAME
from ablate.record.files import is_left_over
from ablate.record.links import read_links
from ablate.record.lock import take
from ablate.record.part import RESULTS
from ablate.record.sealed import RESULT, read_sealed
from ablate.record.types import Link
from ablate.wandb.note import OFFLINE, is_synced, read_note

LOCK = ".lock"


@dataclass(frozen=True)
class Folders:
    """The results folder and the cache folder that are cleaned."""

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
    """A kind of files that can be removed: the reason why nothing needs them, and a search
    function.
    """

    reason: str
    find: Callable[[Folders], Iterator[Path]]
    asked: bool = False  # removed only if the user names the kind


@dataclass(frozen=True)
class Leftover:
    """A file or folder that can be removed, with its size in bytes."""

    kind: str
    path: Path
    size: int


def checkpoints(folders: Folders) -> Iterator[Path]:
    """Yield the checkpoint folders of finished runs."""
    for run in folders.runs:
        if _status(run) in RESULTS and (run / "checkpoints").is_dir():
            yield run / "checkpoints"


def failed(folders: Folders) -> Iterator[Path]:
    """Yield the folders of failed runs."""
    return (run for run in folders.runs if _status(run) == "failed")


def unfinished(folders: Folders) -> Iterator[Path]:
    """Yield temporary files of processes on this machine that no longer exist."""
    for folder in (folders.results, *folders.runs, *folders.sweeps, folders.cache / "tokens"):
        for pattern in (".*@*", "*/.*@*", "*/*/.*@*"):
            for path in sorted(folder.glob(pattern)):
                if is_left_over(path):
                    yield path


def locks(folders: Folders) -> Iterator[Path]:
    """Yield all lock files, if no process holds any of them."""
    places = folders.results, folders.cache
    paths = [path for place in places for path in sorted(place.glob(f"locks/*{LOCK}"))]
    if not any(_is_held(path) for path in paths):
        yield from paths


def stale_sweeps(folders: Folders) -> Iterator[Path]:
    """Yield the folders of sweeps that have no evidence, and whose runs no longer exist.

    Parts of a study have evidence, but no verdict.
    """
    for sweep in folders.sweeps:
        with suppress(UserError):  # a damaged sweep is kept, because its runs are unknown
            if not file_of_runs(sweep).exists() and _has_lost_its_runs(sweep, folders.results):
                yield sweep


def broken_names(folders: Folders) -> Iterator[Path]:
    """Yield symbolic links in results/by-name to runs that no longer exist."""
    paths = sorted(folders.results.glob(f"{BY_NAME}/*/*"))
    return (path for path in paths if path.is_symlink() and not path.exists())


def uploaded(folders: Folders) -> Iterator[Path]:
    """Yield folders of offline W&B runs that W&B has uploaded."""
    for run in folders.runs:
        notes = [read_note(path) for path in (run, *run.glob("tests/*/"))]
        sent = {note.get("id") for note in notes if note.get("url")}
        for offline in sorted(run.glob(OFFLINE)):
            if is_synced(offline) or offline.name.rpartition("-")[2] in sent:
                yield offline


def caches(folders: Folders) -> Iterator[Path]:
    """Yield the folders with cached token ids of corpora, unless a process is building them."""
    for path in sorted(folders.cache.glob("tokens/[!.]*/")):
        lock_path = folders.cache / "locks" / f"{path.name}{LOCK}"
        if not (lock_path.exists() and _is_held(lock_path)):
            yield path


def weights(folders: Folders) -> Iterator[Path]:
    """Yield the weight files of finished runs."""
    return (run / "weights.pt" for run in folders.runs if (run / "weights.pt").is_file())


def unused_runs(folders: Folders) -> Iterator[Path]:
    """Yield the folders of finished runs to which no sweep refers."""
    named = {run for sweep in folders.sweeps for link in _links(sweep) for run in _runs(link)}
    return (run for run in folders.runs if _status(run) in RESULTS and run.name not in named)


# Whole runs come first, so that none of their parts is listed again. Locks come last, because
# removing a part of a run requires its lock.
KINDS = {
    "unused_runs": Kind(
        "no sweep names it; the same command would train it again", unused_runs, asked=True
    ),
    "checkpoints": Kind("the run has ended, so it will not go on from a saved state", checkpoints),
    "failed": Kind("a failure is not a result; the same command starts the run again", failed),
    "unfinished": Kind("an incomplete file of a process that no longer exists", unfinished),
    "stale_sweeps": Kind("it has no evidence, and its runs no longer exist", stale_sweeps),
    "broken_names": Kind("the run that it links to no longer exists", broken_names),
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
    """Return all files and folders of these kinds, without duplicates.

    Args:
        folders: the folders to search.
        kinds: keys of `KINDS`.

    Raises:
        UserError: the results folder has neither runs nor sweeps, or a sweep is damaged, so that
            the runs to which it refers are unknown.
    """
    if not any((folders.results / name).is_dir() for name in ("runs", "sweeps")):
        raise UserError(f"results={folders.results}: it holds neither runs nor sweeps")
    by_path: dict[Path, Leftover] = {}
    for name in (name for name in KINDS if name in kinds):
        for path in KINDS[name].find(folders):
            if not any(parent in by_path for parent in (path, *path.parents)):
                by_path[path] = Leftover(name, path, _size(path))
    return list(by_path.values())


def remove(leftover: Leftover, results: Path) -> bool:
    """Remove a file or folder; return False if a process is using the run to which it belongs.

    The lock of the run is held meanwhile. A path outside of runs needs no lock.

    Raises:
        OSError: the file or folder cannot be removed.
    """
    runs, path = results / "runs", leftover.path
    inside = path.relative_to(runs).parts if runs in path.parents else ()
    lock_path = results / "locks" / f"{inside[0]}{LOCK}" if inside else None
    new = lock_path is not None and not lock_path.exists()
    lock = take(lock_path) if lock_path else None
    if lock_path and lock is None:
        return False
    try:
        if _is_folder(path):
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    finally:
        if lock_path and new:
            lock_path.unlink(missing_ok=True)
        if lock is not None:
            lock.release()
    return True


def _status(run: Path) -> str | None:
    """Return the status of a run; None if it has not ended or its result is damaged."""
    with suppress(OSError, UserError):
        status = read_sealed(run / RESULT)["status"]
        return str(status)
    return None


def _links(sweep: Path) -> list[Link]:
    """Return the outcomes of all runs of a sweep, including the runs that tuned a parameter.

    Raises:
        UserError: the file of an outcome is damaged.
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
    """Return the size in bytes of a file, or of all files in a folder; links are not followed."""
    if not _is_folder(path):
        return path.lstat().st_size
    files = (Path(parent, name) for parent, _, names in os.walk(path) for name in names)
    return sum(file.lstat().st_size for file in files)
