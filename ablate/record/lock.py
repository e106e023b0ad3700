"""Lock files, so that no two processes do the same work at the same time.

The operating system releases a lock when its process ends for any reason. The lock file remains.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout


def acquire(path: Path, work: str) -> AbstractContextManager[Any]:
    """Wait until no other process holds the lock, and hold it until the returned context ends.

    Args:
        path: the lock file.
        work: what another process does while it holds the lock, for the message.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        print(f"another process is {work}; waiting for {path}", flush=True)
        return lock.acquire()


def take(path: Path) -> FileLock | None:
    """Return an acquired lock, which the caller must release.

    The result is None if another process holds the lock.

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
