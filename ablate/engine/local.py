"""Execute the runs of a sweep on this machine, `n_jobs` at a time."""

import os
from contextlib import ExitStack

from omegaconf import DictConfig

from ablate.engine.base import Engine, Task
from ablate.engine.gpus import Places, devices_of, gpus_for, mps
from ablate.process import allow_children, end_children, limit_threads, start_fork_server

# names rather than imports: the first module changes the process that imports it, and this process
# does not need the second
UNSHADOWED, PRELOADED = "ablate.sweep.unshadowed", "ablate.sweep.preloaded"


class Local(Engine):
    """An engine that executes runs on this machine, on its GPUs in turn.

    With `stay`, the process waits while other processes execute the last runs; otherwise it exits.
    `per_gpu` runs share a GPU, with `mps` through NVIDIA's Multi-Process Service.
    """

    def __init__(self, *, stay: bool, per_gpu: int, mps: bool) -> None:
        self.stay = stay
        self.per_gpu = per_gpu
        self.mps = mps

    def size(self, config: DictConfig) -> int:
        """Return `n_jobs` of the config if it is set; else the number of places on GPUs if the runs
        use GPUs; else the number of cores divided by the cores of a run, at least 1.
        """
        if config.n_jobs is not None:
            return int(config.n_jobs)
        from ablate.record.identity import device_kind  # imports torch

        devices = devices_of(config)
        if gpus := gpus_for(config):
            return max(1, len(gpus) * self.per_gpu // (devices or len(gpus)))
        if config.trainer.get("accelerator") == "gpu" or device_kind(config) != "cpu":
            return 1  # a GPU that is not named by CUDA_VISIBLE_DEVICES
        return max(1, (os.cpu_count() or 1) // (config.threads * (devices or 1)))

    def prepare(self, config: DictConfig) -> None:
        """Start the server from which the processes of runs are forked."""
        limit_threads(config.threads)
        start_fork_server([UNSHADOWED, PRELOADED])

    def start(self, config: DictConfig) -> None:
        """Count the places on GPUs, and start MPS if the config asks for it."""
        allow_children()
        gpus = gpus_for(config)
        self.places = Places(gpus, self.per_gpu) if gpus else None
        self.service = ExitStack()
        if self.mps:
            self.service.enter_context(mps())

    def call(self, task: Task) -> bool:
        """Call the task in this process, as soon as its run has a place."""
        if self.places is None:
            return not self.ending.is_set() and task(None)
        with self.places.take(devices_of(task.config)) as place:
            return not self.ending.is_set() and task(place)

    def end(self) -> None:
        """Ask all runs to save their state and to end."""
        super().end()
        end_children()
        self.service.close()
