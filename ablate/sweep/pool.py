"""Clean processes for the runs of a sweep, forked from a server that has imported torch once."""

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
from ablate.sweep.deal import Deal
from ablate.sweep.worker import work

UNSHADOWED = "ablate.sweep.unshadowed"  # by name, as it changes the process that imports it
GRACE_SECONDS = 20  # for a run to save its state when the sweep is stopped
POLL_SECONDS = 1  # between two looks at what other workers do


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
        self._context = fork_server([UNSHADOWED, preloaded])
        self._running: dict[int, tuple[ForkServerProcess, Cell]] = {}

    def prepare(self) -> None:
        """Start the server, which imports for seconds, while this process does something else."""
        start_fork_server()

    def run(
        self, deal: Deal, context: HydraContext, started: Callable[[str], None], *, stay: bool
    ) -> Iterator[tuple[Cell, int | None]]:
        """Yield each cell as it ends, with the exit status of its process.

        The status of what another worker has done is None. Who is to `stay` watches over what
        others hold, so that nothing is lost with them.
        """
        while True:
            while len(self._running) < self.size and (cell := deal.take()):
                self._start(cell, context)
                started(cell.label)
            yield from ((cell, None) for cell in deal.done_elsewhere())
            if not self._running and not (stay and deal.open):
                return
            seconds = POLL_SECONDS if deal.open else None
            ended = multiprocessing.connection.wait(list(self._running), seconds)
            for sentinel in [s for s in self._running if s in ended]:
                process, cell = self._running.pop(sentinel)
                process.join()
                yield cell, int(process.exitcode or 0)
                deal.release(cell)

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
