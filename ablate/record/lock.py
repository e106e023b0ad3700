"""Lock files, so that no two processes do the same work at the same time.

The operating system releases a lock when its process ends for any reason. The lock file remains.
"""

from contextlib import AbstractContextManager, suppress
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


def take(path: Path) -> AbstractContextManager[Any] | None:
    """Return a lock, which is held until the returned context ends; None if another process or
    thread holds the lock.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(Timeout):
        return FileLock(path).acquire(timeout=0)
    return None
