"""Assigns the cells of a sweep to its workers: the one that asks first gets the next.

A cell is done once the sweep has its link. It is held while a process has the lock of its training:
so no two workers, of this sweep or of another one, train it at once. Where a worker dies, the
system releases its locks, and its cells are assigned again.
"""

from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from ablate.record.lock import take
from ablate.sweep.cell import Cell


class Deal:
    """What is left of some cells of a sweep, as one worker sees it."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._open = {cell.number: cell for cell in cells}
        self._held: dict[int, FileLock] = {}
        self._elsewhere: list[Cell] = []

    @property
    def open(self) -> int:
        """Number of cells that this worker neither holds nor knows to be done."""
        return len(self._open)

    def take(self) -> Cell | None:
        """Hold the first cell that is neither done nor held; None when there is none."""
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
        """Cells that other workers have done, each named once."""
        found, self._elsewhere = self._elsewhere, []
        return found

    def release(self, cell: Cell) -> None:
        """Let go of a cell; without a link it is open again, to this worker too."""
        if not cell.link.exists():
            self._open[cell.number] = cell
        self._held.pop(cell.number).release()

    def _hold(self, cell: Cell) -> bool:
        lock = take(Path(cell.arm.paths.results) / "locks" / f"{cell.training}.lock")
        if lock is None:
            return False
        if cell.link.exists():  # by whom it was held a moment ago
            lock.release()
            return False
        self._held[cell.number] = lock
        return True
