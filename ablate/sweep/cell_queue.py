"""Distribute the cells of a sweep (its runs) to its worker processes: first come, first served.

A cell is done once the sweep has a file with its outcome. While a process trains a cell, it holds
the lock of the training, so no other worker, of this or another sweep, trains the same run. If a
worker dies, the operating system releases its locks, and its cells are distributed again.
"""

from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from ablate.record.lock import take
from ablate.sweep.cell import Cell


class CellQueue:
    """The cells (runs of a sweep) that remain to be run, as one worker process sees them."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._open = {cell.number: cell for cell in cells}
        self._held: dict[int, FileLock] = {}
        self._elsewhere: list[Cell] = []

    @property
    def open(self) -> int:
        """The number of cells (runs) that this worker has neither taken nor seen finished."""
        return len(self._open)

    def take(self) -> Cell | None:
        """Return the first cell (a run) that is neither done nor locked by a worker, and lock it.

        The result is None if there is no such cell.
        """
        done: list[Cell] = []
        taken: Cell | None = None
        for cell in self._open.values():
            if cell.link.exists():
                done.append(cell)
            elif self._hold(cell):
                taken = cell
                break
        for cell in (*done, *filter(None, [taken])):
            del self._open[cell.number]
        self._elsewhere += done
        return taken

    def done_elsewhere(self) -> list[Cell]:
        """Return the cells (runs) that other workers have finished since the last call."""
        done, self._elsewhere = self._elsewhere, []
        return done

    def release(self, cell: Cell) -> None:
        """Release the lock of a cell (a run).

        Without an outcome, the cell becomes available again.
        """
        if not cell.link.exists():
            self._open[cell.number] = cell
        self._held.pop(cell.number).release()

    def _hold(self, cell: Cell) -> bool:
        lock = take(Path(cell.arm.paths.results) / "locks" / f"{cell.training}.lock")
        if lock is None:
            return False
        if cell.link.exists():  # another worker finished it a moment ago
            lock.release()
            return False
        self._held[cell.number] = lock
        return True
