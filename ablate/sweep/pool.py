"""Start processes for the runs of a sweep, forked from a server that has imported torch once."""

import multiprocessing.connection
import os
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import Any

from hydra.types import HydraContext

from ablate.process import fork_server, start_fork_server
from ablate.sweep.cell import Cell
from ablate.sweep.cell_queue import CellQueue
from ablate.sweep.worker import work

# a name rather than an import, because importing this module changes the process
UNSHADOWED = "ablate.sweep.unshadowed"
GRACE_SECONDS = 20  # time for a run to save its state when the sweep is stopped
POLL_SECONDS = 1  # interval for checking the progress of other workers


class Pool:
    """A pool of at most `size` processes in which the module `preloaded` is already imported.

    All processes end with the sweep. They are started and joined in a single thread, because
    multiprocessing reports wrong exit statuses otherwise.
    """

    def __init__(self, size: int, preloaded: str, *, threads: int) -> None:
        self.size = size
        # All runs inherit the environment in which the server starts.
        os.environ["OMP_NUM_THREADS"] = str(threads)
        os.environ["TOKENIZERS_PARALLELISM"] = "0"
        self._context = fork_server([UNSHADOWED, preloaded])
        self._running: dict[int, tuple[ForkServerProcess, Cell]] = {}

    def prepare(self) -> None:
        """Start the server from which the processes will be forked.

        The server starts in the background, because its imports take seconds.
        """
        start_fork_server()

    def run(
        self, queue: CellQueue, context: HydraContext, started: Callable[[], None], *, stay: bool
    ) -> Iterator[tuple[Cell, int | None]]:
        """Run the cells of a queue, each in a process, and yield each finished cell with the exit
        status of its process.

        A cell is one run of a sweep: an arm with a seed. The status is None if another worker ran
        the cell.

        Args:
            queue: the cells.
            context: Hydra's context.
            started: called when a cell starts.
            stay: whether to wait for cells that other workers hold, and to run them if these
                workers die.
        """
        while True:
            while len(self._running) < self.size and (cell := queue.take()):
                self._start(cell, context)
                started()
            yield from ((cell, None) for cell in queue.done_elsewhere())
            if not self._running and not (stay and queue.open):
                return
            seconds = POLL_SECONDS if queue.open else None
            ended = multiprocessing.connection.wait(list(self._running), seconds)
            for sentinel in [s for s in self._running if s in ended]:
                process, cell = self._running.pop(sentinel)
                process.join()
                yield cell, int(process.exitcode or 0)
                queue.release(cell)

    def _start(self, cell: Cell, context: HydraContext) -> None:
        sweep = Path(cell.arm.hydra.sweep.dir)
        log = sweep / "logs" / f"{cell.number:04d}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        arguments = (context, cell, cell.argv, str(log.resolve()))
        process = self._context.Process(target=work, args=arguments)
        process.start()
        self._running[process.sentinel] = (process, cell)

    def __enter__(self) -> "Pool":
        self._earlier: Any = signal.signal(signal.SIGTERM, _stop)
        return self

    def __exit__(self, *_raised: object) -> None:
        signal.signal(signal.SIGTERM, self._earlier)
        for process, _ in self._running.values():
            process.terminate()
        for process, _ in self._running.values():
            process.join(GRACE_SECONDS)
            process.kill()


def _stop(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
