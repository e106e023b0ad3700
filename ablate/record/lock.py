"""Locks between processes, so that no run is made twice at once.

The system takes a lock back when its process dies, however it dies; the file stays.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout


def acquire(path: Path) -> AbstractContextManager[Any]:
    """Wait until no other process holds the lock, and hold it until the context ends.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        print(f"another process is at this run; waiting for {path}", flush=True)
        return lock.acquire()


def take(path: Path) -> FileLock | None:
    """Hold the lock until its `release`; None where another process holds it.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock
