"""Execute the runs of a sweep on other machines, through Ray or Slurm."""

import logging
import os
import threading
from importlib import import_module
from pathlib import Path

from omegaconf import DictConfig

from ablate.engine.base import POLL_SECONDS, Engine, Task


class Ray(Engine):
    """An engine that executes each run as a Ray task, `workers` at a time.

    `options` are options of `ray.remote` (num_cpus, num_gpus, max_retries, ...). `address` is the
    address of the Ray cluster (None: Ray's default, a new cluster on this machine).
    """

    def __init__(self, *, workers: int, options: dict[str, object], address: str | None) -> None:
        # Ray's default niceness of 15 would starve runs on a busy machine
        os.environ.setdefault("RAY_worker_niceness", "0")
        self.ray = import_module("ray")
        self.workers = workers
        self.options = options
        self.address = address

    def start(self, config: DictConfig) -> None:
        """Connect to the cluster."""
        self.ray.init(
            address=self.address,
            ignore_reinit_error=True,
            logging_level=logging.WARNING,
            log_to_driver=False,  # each run has a log
            include_dashboard=False,
        )

    def call(self, task: Task) -> bool:
        """Let Ray call the task."""
        result = self.ray.remote(**self.options)(lambda: task()).remote()
        while not self.ray.wait([result], timeout=POLL_SECONDS)[0]:
            if self.ending.is_set():
                return False
        return bool(self.ray.get(result))


class Submitit(Engine):
    """An engine that executes each run as a Slurm job through submitit, `workers` at a time.

    `parameters` are arguments of submitit's AutoExecutor (timeout_min, cpus_per_task, ...).
    `cluster` is the executor of submitit, such as slurm or local; None: submitit's choice.
    """

    def __init__(self, *, workers: int, parameters: dict[str, object], cluster: str | None) -> None:
        self.submitit = import_module("submitit")
        self.workers = workers
        self.parameters = parameters
        self.cluster = cluster
        self.one_at_a_time = threading.Lock()

    def start(self, config: DictConfig) -> None:
        """Make the executor; its files are in the folder `jobs` of the sweep."""
        folder = Path(config.hydra.sweep.dir) / "jobs"
        self.executor = self.submitit.AutoExecutor(folder=folder, cluster=self.cluster)
        self.executor.update_parameters(**self.parameters)

    def call(self, task: Task) -> bool:
        """Let Slurm call the task."""
        with self.one_at_a_time:
            job = self.executor.submit(task)
        while not job.done():
            if self.ending.wait(POLL_SECONDS):
                return False
        return bool(job.result())
