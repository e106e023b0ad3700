"""Distribute the cells of a sweep (its runs) to processes: first come, first served.

The processes are forked from a server that has imported torch once. A cell is done once the sweep
has a file with its outcome. While a process trains a cell, it holds the lock of the training, so no
other worker, of this or another sweep, trains the same run. If a worker dies, the operating system
releases its locks, and its cells are distributed again.
"""

import multiprocessing.connection
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import Any

from filelock import FileLock
from hydra.core.utils import run_job, setup_globals
from hydra.types import HydraContext

from ablate.errors import UserError
from ablate.process import (
    act_as_command,
    end_with_parent,
    fork_server,
    start_fork_server,
    write_output_to,
)
from ablate.record.lock import take
from ablate.sweep.cell import Cell

# names rather than imports: the first module changes the process that imports it, and this process
# does not need the second
UNSHADOWED, PRELOADED = "ablate.sweep.unshadowed", "ablate.sweep.preloaded"
GRACE_SECONDS = 20  # time for a run to save its state when the sweep is stopped
POLL_SECONDS = 1  # interval for checking the progress of other workers


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
        for cell in [*self._open.values()]:
            done = cell.link.exists()
            if done or self._hold(cell):
                del self._open[cell.number]
                if not done:
                    return cell
                self._elsewhere.append(cell)
        return None

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


class Pool:
    """A pool of at most `size` processes in which the module `PRELOADED` is already imported.

    All processes end with the sweep. They are started and joined in a single thread, because
    multiprocessing reports wrong exit statuses otherwise.
    """

    def __init__(self, size: int, *, threads: int) -> None:
        self.size = size
        # All runs inherit the environment in which the server starts.
        os.environ["OMP_NUM_THREADS"] = str(threads)
        os.environ["TOKENIZERS_PARALLELISM"] = "0"
        self._context = fork_server([UNSHADOWED, PRELOADED])
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
        process = self._context.Process(target=execute, args=arguments)
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


def execute(context: HydraContext, cell: Cell, argv: list[str], log: str) -> None:
    """Execute a run with its output in a file; exit with status 1 if the run failed.

    Args:
        context: Hydra's context.
        cell: the run.
        argv: the command line of the run.
        log: path of the file.
    """
    write_output_to(log)
    end_with_parent()
    setup_globals()
    act_as_command("ablate.__main__", argv)
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    done = run_job(
        task_function=lambda config: run(resolve(config)),
        config=cell.config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
        hydra_context=context,
    )
    try:
        _ = done.return_value
    except UserError as error:
        print(f"ablate: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)
