"""Run the cells of a sweep in this process: `n_jobs` runs at a time on this machine.

If the same command is started several times, here or elsewhere, the processes share one sweep.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from ablate.engine.base import Engine


class Local(Engine):
    """An engine that runs the cells of a sweep in this process. A cell is one run: one combination
    of values and one seed.

    With `stay`, the process waits while other processes run the last cells; otherwise it exits.
    """

    workers = 1
    works_here = True

    def __init__(self, *, stay: bool) -> None:
        self.stay = stay

    def work(self, here: Callable[[], None], elsewhere: Sequence[str], folder: Path) -> None:
        """Run all cells (runs) of the sweep in this process by calling `here`.

        The other arguments are not used.
        """
        here()
