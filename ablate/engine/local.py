"""This process is the worker: `n_jobs` runs at a time on this machine.

Started several times, here or elsewhere, the same command is several workers of one sweep.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from ablate.engine.base import Engine


class Local(Engine):
    """Without `stay` it leaves once others hold the last cells."""

    workers = 1
    works_here = True

    def __init__(self, *, stay: bool) -> None:
        self.stay = stay

    def work(self, here: Callable[[], None], elsewhere: Sequence[str], folder: Path) -> None:
        """Work in this process."""
        here()
