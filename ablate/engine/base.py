"""The interface of engines, which start the workers of a sweep and restart workers that die.

Workers take cells (runs of the sweep) from a queue in the shared folder
(`ablate.sweep.pool`), so an engine knows nothing about cells. Placement, queues, retries and
autoscaling are left to the system that runs the workers. `paths.results`, the code and its
environment must be the same on every machine.
"""

import importlib.util
import os
import platform
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from ablate.errors import UserError
from ablate.process import parent_death_hook

# Exit statuses after which a worker is not restarted: the sweep has ended, a run has failed, or the
# command is wrong.
DONE = (0, 1, 2)
OWN = ("engine=", "engine.", "hydra.sweep.dir=")  # overrides that are replaced for workers
LOGS = "workers"  # subfolder of a sweep with the output of its workers


class Engine(ABC):
    """The interface of an engine, which runs the cells (runs) of a sweep in `workers` processes."""

    workers: int
    works_here = False  # whether this process starts the runs itself, rather than remote workers
    stay = True  # whether an idle worker waits for cells that other workers hold

    @abstractmethod
    def work(self, here: Callable[[], None], elsewhere: Sequence[str], folder: Path) -> None:
        """Run all cells (runs) of a sweep; block until no worker is active.

        Args:
            here: function that runs the cells in this process.
            elsewhere: command line that runs the cells in another process.
            folder: folder of the sweep, where the engine may store files.

        Raises:
            UserError: the system does not accept the workers.
        """


def needs(name: str, extra: str) -> None:
    """Raise UserError unless an optional package is installed."""
    if importlib.util.find_spec(name) is None:
        raise UserError(f"engine={extra} needs {name}: pip install 'ablate[{extra}]'")


def elsewhere(words: Sequence[str], folder: Path) -> list[str]:
    """Return the command line of a worker, derived from the command line of this process.

    Args:
        words: arguments of this process.
        folder: folder of the sweep.
    """
    same = [word for word in words if not word.lstrip("+").startswith(OWN)]
    replaced = ["engine=local", f"hydra.sweep.dir={folder.absolute()}"]
    return [sys.executable, "-m", "ablate", *same, *replaced]


class Worker:
    """A worker of a sweep in a separate process, which ends with the process that started it.

    Args:
        command: command line of the worker.
        folder: working folder of the worker.
        logs: folder for the output of the worker.
    """

    def __init__(self, command: Sequence[str], folder: str, logs: Path) -> None:
        self.command = list(command)
        self.folder = folder
        self.logs = logs
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> int:
        """Run the worker until the sweep has ended, and return the exit status.

        Raises:
            RuntimeError: this worker ended before the sweep. Other workers, or a new start of the
                same command, continue the sweep.
        """
        logs = Path(self.folder, self.logs)
        logs.mkdir(parents=True, exist_ok=True)
        log = logs / f"{platform.node()}-{os.getpid()}.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                preexec_fn=parent_death_hook(os.getpid()),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            status = self.process.wait()
        if status not in DONE:
            raise RuntimeError(f"a worker ended with status {status}; its log is {log}")
        return status

    def end(self) -> None:
        """Ask the runs of this worker to save their state, and wait until they have ended."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
