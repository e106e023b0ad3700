"""The interface of engines, which execute the runs of a sweep.

A task is one run, as a function that can be called in any process of any machine. The process that
started the sweep submits the tasks, and waits for the futures (of `concurrent.futures`). Placement,
queues and retries are left to the system that calls the tasks. `paths.results`, the code and its
environment must be the same on every machine.
"""

import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from omegaconf import DictConfig

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
