"""An engine starts the workers of a sweep, and starts them again when they die.

The shared folder deals the cells (`ablate.sweep.deal`), so an engine knows nothing of them:
placing, queues, retries and autoscaling are those of the system that it hands the workers to.
`paths.results`, the code and its environment have to be the same on every machine.
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

# Exit statuses of a worker that has done what it could: the sweep has ended, a run of it has
# failed, or its command is wrong, which no other try changes.
DONE = (0, 1, 2)
OWN = ("engine", "hydra.sweep.dir=")  # words that a worker has in another form
LOGS = "workers"  # folder in that of a sweep, with what its workers print


class Engine(ABC):
    """`workers` processes that run the cells of one sweep."""

    workers: int
    works_here = False  # in this process, which then gets ready for it
    stay = True  # a worker that finds nothing to do watches over what others hold

    @abstractmethod
    def work(self, here: Callable[[], None], elsewhere: Sequence[str], folder: Path) -> None:
        """Have all cells of a sweep done; return when nobody works on them any more.

        Args:
            here: does it in this process.
            elsewhere: the command line that does it in another one.
            folder: of the sweep, for what the engine itself has to write.

        Raises:
            UserError: the system does not take the workers.
        """


def needs(name: str, extra: str) -> None:
    """Raise UserError unless an optional package is there."""
    if importlib.util.find_spec(name) is None:
        raise UserError(f"engine={extra} needs {name}: pip install 'ablate[{extra}]'")


def elsewhere(words: Sequence[str], folder: Path) -> list[str]:
    """Return the command line of a worker of the sweep in a folder, from that of this process."""
    same = [word for word in words if not word.lstrip("+").startswith(OWN)]
    own = ["engine=local", f"hydra.sweep.dir={folder.resolve()}"]
    return [sys.executable, "-m", "ablate", *same, *own]


class Worker:
    """A worker in a process of its own, which ends with the process that has started it.

    Args:
        command: its command line.
        folder: that it runs in.
        logs: folder for what it prints.
    """

    def __init__(self, command: Sequence[str], folder: str, logs: Path) -> None:
        self.command = list(command)
        self.folder = folder
        self.logs = logs
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> int:
        """Run until the sweep has ended, and return the exit status.

        Raises:
            RuntimeError: the process died; another one goes on with the sweep.
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
        """Have the runs save their state, and wait for it."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
