"""Clean processes for the runs of a sweep, forked from a server that has imported torch once."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from hydra.types import HydraContext

from ablate.sweep.cell import Cell
from ablate.sweep.worker import work

GRACE_SECONDS = 20  # for a run to save its state when the sweep is stopped


class Pool:
    """At most `size` processes at a time, `preloaded` in each; none outlives the sweep.

    Starting and joining happen in one thread only: with several, multiprocessing reports wrong
    exit statuses.
    """

    def __init__(self, size: int, preloaded: str, *, threads: int) -> None:
        self.size = size
        # The server's environment at its start is that of all runs.
        os.environ["OMP_NUM_THREADS"] = str(threads)
        os.environ["TOKENIZERS_PARALLELISM"] = "0"
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([preloaded])
        forkserver.ensure_running()
        self._running: dict[int, tuple[ForkServerProcess, Cell]] = {}

    def run(
        self, cells: Sequence[Cell], context: HydraContext, started: Callable[[str], None]
    ) -> Iterator[tuple[Cell, int]]:
        """Yield each cell with the exit status of its process, as they end."""
        waiting = list(cells)
        while waiting or self._running:
            while len(self._running) < self.size and (cell := self._next(waiting)):
                waiting.remove(cell)
                self._start(cell, context)
                started(cell.label)
            ended = multiprocessing.connection.wait(list(self._running))
            for sentinel in [s for s in self._running if s in ended]:
                process, cell = self._running.pop(sentinel)
                process.join()
                yield cell, int(process.exitcode or 0)

    def _next(self, waiting: Sequence[Cell]) -> Cell | None:
        """The first cell whose training is not under way; that one would only wait for it."""
        busy = {cell.training for _, cell in self._running.values()}
        return next((cell for cell in waiting if cell.training not in busy), None)

    def _start(self, cell: Cell, context: HydraContext) -> None:
        sweep = Path(cell.config.hydra.sweep.dir)
        log = sweep / "logs" / f"{cell.number:04d}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        arguments = (context, cell, cell.argv, str(log.resolve()))
        process = self._context.Process(target=work, args=arguments)
        process.start()
        self._running[process.sentinel] = (process, cell)

    def __enter__(self) -> Self:
        self._earlier: Any = signal.signal(signal.SIGTERM, _stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGTERM, self._earlier)
        for process, _ in self._running.values():
            process.terminate()
        for process, _ in self._running.values():
            process.join(GRACE_SECONDS)
            process.kill()


def _stop(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
