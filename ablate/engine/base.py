"""The interface of engines, which start the workers of a sweep and restart those that die.

Workers take cells from the shared folder (`ablate.sweep.cell_queue`), so an engine knows nothing
about cells: placement, queues, retries and autoscaling are left to the system that runs the
workers. `paths.results`, the code and its environment must be the same on every machine.
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
from ablate.process import ending_with

# Exit statuses after which a worker is not restarted: the sweep has ended, a run has failed, or the
# command is wrong.
DONE = (0, 1, 2)
OWN = ("engine", "hydra.sweep.dir=")  # overrides that are replaced for workers
LOGS = "workers"  # folder inside the sweep's, with the output of its workers


class Engine(ABC):
    """Runs the cells of a sweep in `workers` processes."""

    workers: int
    works_here = False  # whether cells run in this process, which prepares for it
    stay = True  # whether an idle worker waits for cells that others hold

    @abstractmethod
    def work(self, here: Callable[[], None], elsewhere: Sequence[str], folder: Path) -> None:
        """Run all cells of a sweep; block until no worker is active.

        Args:
            here: function that runs the cells in this process.
            elsewhere: command line that runs them in another process.
            folder: folder of the sweep, for files of the engine.

        Raises:
            UserError: the system does not accept the workers.
        """


def needs(name: str, extra: str) -> None:
    """Raise UserError unless an optional package is installed."""
    if importlib.util.find_spec(name) is None:
        raise UserError(f"engine={extra} needs {name}: pip install 'ablate[{extra}]'")


def elsewhere(words: Sequence[str], folder: Path) -> list[str]:
    """Return the command line of a worker, derived from that of this process."""
    same = [word for word in words if not word.lstrip("+").startswith(OWN)]
    replaced = ["engine=local", f"hydra.sweep.dir={folder.resolve()}"]
    return [sys.executable, "-m", "ablate", *same, *replaced]


class Worker:
    """A worker in a separate process, which ends with the process that started it.

    Args:
        command: its command line.
        folder: its working folder.
        logs: folder for its output.
    """

    def __init__(self, command: Sequence[str], folder: str, logs: Path) -> None:
        self.command = list(command)
        self.folder = folder
        self.logs = logs
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> int:
        """Run until the sweep has ended, and return the exit status.

        Raises:
            RuntimeError: this worker ended before the sweep; other workers, or the same command
                again, continue it.
        """
        logs = Path(self.folder, self.logs)
        logs.mkdir(parents=True, exist_ok=True)
        log = logs / f"{platform.node()}-{os.getpid()}.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                preexec_fn=ending_with(os.getpid()),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            status = self.process.wait()
        if status not in DONE:
            raise RuntimeError(f"a worker ended with status {status}; its log is {log}")
        return status

    def end(self) -> None:
        """Let the runs save their state, and wait until they have ended."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
