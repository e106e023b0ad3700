"""Engines execute the runs of a sweep: on this machine, with Ray, or with Slurm.

A task is one run, as a function that can be called in any process of any machine. It executes the
run unless the run is done, or another process executes it, and returns whether it did. The process
that started the sweep submits the tasks, and asks whether they have ended. Placement, queues and
retries are left to the system that calls the tasks. `paths.results`, the code and its environment
must be the same on every machine.

The runs of a sweep take the GPUs of this machine in turn, several runs one GPU on request. Each GPU
has a number of shares, each with an equal part of its memory, and of the cores of this machine. A
run on one device takes one share. A run on several devices takes a share of as many GPUs.
"""

import importlib.util
import logging
import multiprocessing.connection
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, ClassVar

from omegaconf import DictConfig

from ablate.errors import UserError
from ablate.record.identity import device_kind

# a name rather than an import: the module changes the process that imports it
PRELOADED = "ablate.sweep.preloaded"
# what a logger imports when its run begins
FOR_LOGGERS = ("pandas", "wandb", "ablate.observe.pictures", "ablate.wandb.logger")
GRACE_SECONDS = 20  # time for a run to save its state when the sweep is stopped
MPS = "nvidia-cuda-mps-control"
# the process of the run calls the argument, a `RunDevices`, first, which chooses its GPUs and cores
Task = Callable[..., bool]

_ending = threading.Event()
_one_at_a_time = threading.RLock()


class Engine(ABC):
    """The interface of an engine, which executes `workers` runs at a time."""

    workers: int
    poll_seconds: ClassVar = 1.0  # interval for checking whether a run has ended

    @abstractmethod
    def submit(self, task: Task) -> Any:
        """Let a process call a task, and return an object with the methods `done`, `result` and
        `exception` of a future (of `concurrent.futures`).
        """

    def size(self, config: DictConfig) -> int:
        """Return the number of runs that the engine executes at a time in a sweep."""
        return self.workers

    def session(self, config: DictConfig) -> AbstractContextManager[Any]:
        """Return the context manager of a `with` block in which tasks can be submitted."""
        return nullcontext()


@dataclass(kw_only=True)
class Local(Engine):
    """An engine that executes runs on this machine, on its GPUs in turn.

    `per_gpu` runs share a GPU, with `mps` through NVIDIA's Multi-Process Service.
    """

    per_gpu: int
    mps: bool
    poll_seconds: ClassVar = 0.05

    def size(self, config: DictConfig) -> int:
        """Return `n_jobs` of the config if it is set; else the number of runs that fit on the GPUs
        if the runs use GPUs; else the number of cores divided by the cores of a run, at least 1.
        """
        if config.n_jobs is not None:
            return int(config.n_jobs)
        devices = devices_of(config)
        if gpus := gpus_for(config):
            return max(1, len(gpus) * self.per_gpu // (devices or len(gpus)))
        if config.trainer.get("accelerator") == "gpu" or device_kind(config) != "cpu":
            return 1  # a GPU that is not named by CUDA_VISIBLE_DEVICES
        return max(1, (os.cpu_count() or 1) // (config.threads * (devices or 1)))

    @contextmanager
    def session(self, config: DictConfig) -> Iterator[None]:
        """Start the server from which the processes of runs are forked, create the pool of GPUs,
        and start MPS if the config asks for it; at the end, runs save their state and end.
        """
        limit_threads(config.threads)
        start_fork_server([PRELOADED, *(FOR_LOGGERS if config.logger is not None else ())])
        gpus = gpus_for(config)
        self.pool = DevicePool(gpus, self.per_gpu, devices_of(config)) if gpus else None
        with mps() if self.mps else nullcontext():
            self.threads = ThreadPoolExecutor(self.size(config))
            try:
                yield
            finally:
                end_children()
                self.threads.shutdown(cancel_futures=True)

    def submit(self, task: Task) -> "Future[bool]":
        """Call the task in a thread of this process, as soon as its run has devices."""
        return self.threads.submit(self._call, task)

    def _call(self, task: Task) -> bool:
        if self.pool is None:
            return task(None)
        with self.pool.take() as devices:
            return task(devices)


@dataclass(kw_only=True)
class Ray(Engine):
    """An engine that executes each run as a Ray task, `workers` at a time.

    `options` are options of `ray.remote` (num_cpus, num_gpus, max_retries, ...). `address` is the
    address of the Ray cluster (None: Ray's default, a new cluster on this machine).
    """

    workers: int
    options: dict[str, object]
    address: str | None

    def session(self, config: DictConfig) -> AbstractContextManager[Any]:
        """Connect to the cluster until the end of the context."""
        # Ray's default niceness of 15 would starve runs on a busy machine
        os.environ.setdefault("RAY_worker_niceness", "0")
        self.ray = import_module("ray")
        connection: AbstractContextManager[Any] = self.ray.init(
            address=self.address,
            ignore_reinit_error=True,
            logging_level=logging.WARNING,
            log_to_driver=False,  # each run has a log
            include_dashboard=False,
        )
        return connection

    def submit(self, task: Task) -> "Future[bool]":
        """Let Ray call the task, which it takes as a function."""
        result: Future[bool] = self.ray.remote(**self.options)(lambda: task()).remote().future()
        return result


@dataclass(kw_only=True)
class Submitit(Engine):
    """An engine that executes each run as a Slurm job through submitit, `workers` at a time.

    `parameters` are arguments of submitit's AutoExecutor (timeout_min, cpus_per_task, ...).
    `cluster` is the executor of submitit, such as slurm or local; None: submitit's choice.
    """

    workers: int
    parameters: dict[str, object]
    cluster: str | None

    def session(self, config: DictConfig) -> AbstractContextManager[Any]:
        """Make the executor, whose files are in the folder `jobs` of the sweep."""
        folder = Path(config.hydra.sweep.dir) / "jobs"
        executor = import_module("submitit").AutoExecutor
        self.executor = executor(folder=folder, cluster=self.cluster)
        self.executor.update_parameters(**self.parameters)
        return nullcontext()

    def submit(self, task: Task) -> Any:
        """Submit a Slurm job that calls the task."""
        return self.executor.submit(task)


@dataclass(frozen=True)
class RunDevices:
    """The GPUs and cores of a run.

    Args:
        environment: environment variables that name the GPUs and a running MPS.
        cores: numbers of the cores; empty for all cores.
    """

    environment: dict[str, str]
    cores: list[int]

    def __call__(self) -> None:
        """Restrict this process, in which CUDA must not be in use yet, to these devices."""
        os.environ |= self.environment
        if self.cores and hasattr(os, "sched_setaffinity"):  # Linux
            os.sched_setaffinity(0, self.cores)


class DevicePool:
    """The free shares of GPUs, and the free cores.

    Args:
        gpus: the GPUs, as CUDA_VISIBLE_DEVICES names them.
        per_gpu: number of runs that share a GPU.
        gpus_per_run: number of GPUs on which a run trains; None: all.
    """

    def __init__(self, gpus: Sequence[str], per_gpu: int, gpus_per_run: int | None) -> None:
        self.free = dict.fromkeys(gpus, per_gpu)
        self.gpus_per_run = min(gpus_per_run or len(gpus), len(gpus))
        affinity = getattr(os, "sched_getaffinity", lambda process: ())
        self.cores = sorted(affinity(0))
        self.cores_of_share = len(self.cores) // (len(gpus) * per_gpu)
        self.changed = threading.Condition()

    @contextmanager
    def take(self) -> Iterator[RunDevices]:
        """Wait until as many GPUs as a run needs have a free share, and take these shares during a
        `with` block.

        GPUs with the most free shares are taken first.
        """
        with self.changed:
            self.changed.wait_for(lambda: sum(map(bool, self.free.values())) >= self.gpus_per_run)
            emptiest = sorted(self.free, key=lambda gpu: -self.free[gpu])[: self.gpus_per_run]
            gpus = [gpu for gpu in self.free if gpu in emptiest]  # in the order of their numbers
            cores = [self.cores.pop(0) for _ in range(self.gpus_per_run * self.cores_of_share)]
            self._give(gpus, -1)
        environment = {key: text for key, text in os.environ.items() if key.startswith("CUDA_MPS_")}
        try:
            yield RunDevices({**environment, "CUDA_VISIBLE_DEVICES": ",".join(gpus)}, cores)
        finally:
            with self.changed:
                self.cores += cores
                self._give(gpus, 1)
                self.changed.notify_all()

    def _give(self, gpus: Sequence[str], shares: int) -> None:
        for gpu in gpus:
            self.free[gpu] += shares


def gpus_for(config: DictConfig) -> list[str]:
    """Return the GPUs on which runs with a config can be placed, as CUDA_VISIBLE_DEVICES names
    them; [] if the runs use no GPU of NVIDIA or AMD.
    """
    import torch

    wanted = config.trainer.get("accelerator", "auto")
    count = torch.cuda.device_count() if wanted in ("gpu", "cuda", "auto") else 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count))))
    return [gpu.strip() for gpu in visible.split(",")][:count]


def devices_of(config: DictConfig) -> int | None:
    """Return the number of devices of a run; None for all, as `devices=auto` or a list means."""
    devices = config.trainer.get("devices")
    return devices if isinstance(devices, int) and devices > 0 else None


@contextmanager
def mps() -> Iterator[None]:
    """Let processes share GPUs through NVIDIA's Multi-Process Service during a `with` block.

    Raises:
        UserError: the program that controls the service is not installed.
    """
    if shutil.which(MPS) is None:
        raise UserError(
            f"engine.mps=true needs the program {MPS}, which is part of NVIDIA's driver"
        )
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        # the service must see all GPUs, because it would number its own selection anew
        everything = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
        subprocess.run([MPS, "-d"], env=everything, check=True)
        try:
            yield
        finally:
            subprocess.run([MPS], env=everything, input="quit\n", text=True, check=False)


def limit_threads(threads: int) -> None:
    """Let libraries that later processes import use this number of threads."""
    # with more threads, the tokenizers library would block in forked processes
    os.environ |= {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "0"}


def start_fork_server(modules: Sequence[str]) -> None:
    """Start in the background the server from which the processes of `run_in_child` are forked,
    with these modules imported, which takes seconds; after `end_children`, processes may start
    again.
    """
    _ending.clear()
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(modules))
    forkserver.ensure_running()


def run_in_child(target: Callable[..., object], *arguments: object) -> int:
    """Call a function in a new process, and return the exit status of the process.

    Several threads may call this function at a time. The processes are started and joined one after
    the other, because multiprocessing reports wrong exit statuses otherwise.
    """
    process = multiprocessing.get_context("forkserver").Process(target=target, args=arguments)
    with _one_at_a_time:
        if _ending.is_set():
            return -signal.SIGTERM
        process.start()
    multiprocessing.connection.wait([process.sentinel])
    with _one_at_a_time:
        process.join()
    return int(process.exitcode or 0)


def end_children() -> None:
    """Ask the processes of `run_in_child` to save their state and end; kill them after a while.

    No process starts afterwards, until `start_fork_server` is called.
    """
    _ending.set()
    with _one_at_a_time:
        processes = multiprocessing.active_children()
    for process in processes:
        process.terminate()
    for process in processes:
        multiprocessing.connection.wait([process.sentinel], GRACE_SECONDS)
        process.kill()


def act_as_command(module: str, arguments: Sequence[str]) -> None:
    """Make this process look as if `python -m module arguments` had started it.

    Lightning starts the other processes of DDP with this command line.
    """
    sys.argv = [sys.argv[0], *arguments]
    sys.modules["__main__"].__spec__ = importlib.util.find_spec(module)


def write_output_to(path: Path) -> None:
    """Append standard output and standard error of this process to a file."""
    with path.open("a", encoding="utf-8") as file:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(file.fileno(), stream.fileno())


def end_with_parent() -> None:
    """Make this process end as soon as the process that started it with `multiprocessing` ends.

    The operating system cannot do this, because it sees the fork server as the parent.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
