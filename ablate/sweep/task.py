"""Execute one run of a sweep in a new process, unless another process executes it.

A run is done once the sweep has a file with its outcome. While a process executes a run, it holds
the lock of its training, so no other process, of this or another sweep, trains the same weights.
If the process dies, the operating system releases the lock.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.utils import run_job, setup_globals
from hydra.types import HydraContext

from ablate.engine import (
    act_as_command,
    end_children,
    end_with_parent,
    limit_threads,
    run_in_child,
    write_output_to,
)
from ablate.record.files import take
from ablate.sweep.cell import Cell, write_link

HELD_SECONDS = 1.0  # interval for checking whether another process still executes a run
# Exit statuses of a run that was interrupted: it has saved its state, and did not fail.
# multiprocessing reports 255 if a signal to the whole group has ended the server of the processes.
INTERRUPTED = {255, *(end for n in (signal.SIGTERM, signal.SIGINT) for end in (128 + n, -n))}


@dataclass(frozen=True)
class RunTask:
    """A function that trains one run of a sweep, and that an engine can call on any machine.

    `folder` is the working folder, and `path` the import path, of the process that made the task.
    """

    context: HydraContext
    cell: Cell
    folder: str = field(default_factory=os.getcwd)
    path: tuple[str, ...] = field(default_factory=lambda: tuple(sys.path))

    def __call__(self, place: Callable[[], None] | None = None) -> bool:
        """Execute the run unless it is done, or another process executes it; return whether the run
        was executed.

        The process of the run calls `place` first, which chooses its GPUs and cores.
        """
        os.chdir(self.folder)  # on another machine, the current folder may differ
        sys.path[:] = self.path
        limit_threads(self.cell.arm.threads)
        lock = take(Path(self.cell.arm.paths.results) / "locks" / f"{self.cell.training}.lock")
        if lock is None:
            time.sleep(HELD_SECONDS)
            return False
        with lock:
            if self.cell.link.exists():
                return False
            status = run_in_child(execute, self.context, self.cell, place)
            if status not in INTERRUPTED and not self.cell.link.exists():
                fail(self.cell, f"the process ended with status {status}")  # it was killed
            return True

    def checkpoint(self) -> Any:
        """End the run, and return the submission of a job that continues it.

        submitit calls this method before the time limit of a job, and when Slurm preempts the job.
        """
        import submitit

        end_children()
        return submitit.helpers.DelayedSubmission(self)


def fail(cell: Cell, error: str) -> None:
    """Store that a run failed."""
    write_link(cell, {"status": "failed", "error": error})


def execute(context: HydraContext, cell: Cell, place: Callable[[], None] | None) -> None:
    """Execute a run with its output in a file; a failed run also raises its error.

    Args:
        context: Hydra's context.
        cell: the run.
        place: chooses the GPUs and cores of this process; None for all.
    """
    if place is not None:
        place()
    log = Path(cell.arm.hydra.sweep.dir, "logs", f"{cell.number:04d}.log").resolve()
    log.parent.mkdir(parents=True, exist_ok=True)
    write_output_to(log)
    end_with_parent()
    setup_globals()
    act_as_command("ablate.__main__", cell.argv)
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
        write_link(cell, done.return_value)
    except Exception as error:
        fail(cell, f"{type(error).__name__}: {error}")
        raise
