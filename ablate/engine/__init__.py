"""Engines execute the runs of a sweep: on this machine, with Ray, or with Slurm.

A task is one run, as a function that can be called in any process of any machine. The process that
started the sweep submits the tasks, and waits for the futures (of `concurrent.futures`). Placement,
queues and retries are left to the system that calls the tasks. `paths.results`, the code and its
environment must be the same on every machine.
"""

import logging
import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

from omegaconf import DictConfig

from ablate.engine.gpus import Places, devices_of, gpus_for, mps
from ablate.process import allow_children, end_children, limit_threads, start_fork_server

# a name rather than an import: the module changes the process that imports it
PRELOADED = "ablate.sweep.preloaded"
POLL_SECONDS = 1.0  # interval for checking what happens on other machines


@runtime_checkable
class Task(Protocol):
    """A run of a sweep as a function."""

    @property
    def config(self) -> DictConfig:
        """The config of the run's arm."""

    def __call__(self, place: Callable[[], None] | None = None) -> bool:
        """Execute the run unless it is done, or another process executes it; return whether the run
        was executed.

        The process of the run calls `place` first, which chooses its GPUs and cores.
        """


Submit = Callable[[Task], "Future[bool]"]


class Engine(ABC):
    """The interface of an engine, which calls `workers` tasks at a time."""

    workers: int
    stay = True  # whether to wait for runs that other processes hold

    @abstractmethod
    def call(self, task: Task) -> bool:
        """Call a task, and return its result; return false early if `ending` is set."""

    def size(self, config: DictConfig) -> int:
        """Return the number of runs that the engine executes at a time in a sweep."""
        return self.workers

    def prepare(self, config: DictConfig) -> None:  # noqa: B027  # most engines need nothing
        """Begin in the background what takes seconds before the first task can be called."""

    def start(self, config: DictConfig) -> None:  # noqa: B027
        """Connect to the system that calls the tasks."""

    def end(self) -> None:
        """Let all calls return soon."""
        self.ending.set()

    @contextmanager
    def started(self, config: DictConfig) -> Iterator[Submit]:
        """Yield a function that submits a task and returns its future.

        At the end of the `with` block, or on SIGTERM, runs save their state and end.
        """
        self.ending = threading.Event()
        self.start(config)
        threads = ThreadPoolExecutor(self.size(config))
        earlier = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
        try:
            yield lambda task: threads.submit(self.call, task)
        finally:
            signal.signal(signal.SIGTERM, earlier)
            self.end()
            threads.shutdown(cancel_futures=True)


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
        start_fork_server([PRELOADED])

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
