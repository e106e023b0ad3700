"""Execute the runs of a sweep on this machine, `n_jobs` at a time."""

import os

from omegaconf import DictConfig

from ablate.engine.base import Engine, Task
from ablate.process import end_children, limit_threads, start_fork_server

# names rather than imports: the first module changes the process that imports it, and this process
# does not need the second
UNSHADOWED, PRELOADED = "ablate.sweep.unshadowed", "ablate.sweep.preloaded"


class Local(Engine):
    """An engine that executes runs on this machine.

    With `stay`, the process waits while other processes execute the last runs; otherwise it exits.
    """

    def __init__(self, *, stay: bool) -> None:
        self.stay = stay

    def size(self, config: DictConfig) -> int:
        """Return `n_jobs` of the config if it is set; else 1 if the config requests a GPU, or
        accepts one and there is one; else the number of cores divided by the cores of a run, at
        least 1.
        """
        if config.n_jobs is not None:
            return int(config.n_jobs)
        from ablate.record.identity import device_kind  # imports torch

        if config.trainer.get("accelerator") in ("gpu", "cuda") or device_kind(config) != "cpu":
            return 1
        devices = config.trainer.get("devices")
        processes = devices if isinstance(devices, int) and devices > 0 else 1
        return max(1, (os.cpu_count() or 1) // (config.threads * processes))

    def prepare(self, config: DictConfig) -> None:
        """Start the server from which the processes of runs are forked."""
        limit_threads(config.threads)
        start_fork_server([UNSHADOWED, PRELOADED])

    def call(self, task: Task) -> bool:
        """Call the task in this process."""
        return not self.ending.is_set() and task()

    def end(self) -> None:
        """Ask all runs to save their state and to end."""
        super().end()
        end_children()
