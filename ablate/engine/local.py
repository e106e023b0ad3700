"""Run cells in this process: `n_jobs` runs at a time on this machine.

If the same command is started several times, here or elsewhere, the processes share one sweep.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from ablate.engine.base import Engine


class Local(Engine):
    """Runs cells in this process; without `stay`, it exits when others hold the last cells."""

    workers = 1
    works_here = True

    def __init__(self, *, stay: bool) -> None:
        self.stay = stay

    def work(self, here: Callable[[], None], elsewhere: Sequence[str], folder: Path) -> None:
        """Run cells in this process."""
        here()
