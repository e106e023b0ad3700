"""Run workers as tasks of a Ray cluster, which places and restarts them."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ablate.engine.base import LOGS, Engine, Worker, needs
from ablate.errors import UserError


class Ray(Engine):
    """An engine that runs `workers` Ray tasks.

    `cpus` and `gpus` are the numbers of cores and GPUs of each worker. `restarts` is the maximum
    number of times that Ray restarts a worker. `address` is the address of the Ray cluster (None:
    Ray's default, a new cluster on this machine).
    """

    def __init__(
        self,
        *,
        workers: int,
        cpus: int | float,
        gpus: int | float,
        restarts: int,
        address: str | None,
    ) -> None:
        needs("ray", "ray")
        self.workers = workers
        self.address = address
        self.options = {
            "num_cpus": cpus,
            "num_gpus": gpus,
            "max_retries": restarts,
            "retry_exceptions": True,
        }

    def work(self, here: Callable[[], None], elsewhere: Sequence[str], folder: Path) -> None:
        """Start all workers and wait for them.

        If a worker dies more often than Ray may restart it, the other workers take over its cells
        (runs of the sweep).

        Raises:
            UserError: there is no cluster at the address.
        """
        os.environ.setdefault(
            "RAY_worker_niceness", "0"
        )  # Ray's default of 15 would starve runs on a busy machine
        import ray

        try:
            ray.init(
                address=self.address,
                ignore_reinit_error=True,
                logging_level=logging.WARNING,
                log_to_driver=False,  # the sweep keeps logs of its workers
                include_dashboard=False,
            )
        except (ConnectionError, ValueError) as error:
            raise UserError(f"engine.address={self.address}: {error}") from None
        worker = Worker(elsewhere, os.getcwd(), folder / LOGS)
        remote: Any = ray.remote  # Ray's types do not cover options read from a config
        task = remote(**self.options)(Worker.__call__)
        for started in [task.remote(worker) for _ in range(self.workers)]:
            try:
                ray.get(started)
            except ray.exceptions.RayError as error:
                print(f"a worker is lost: {str(error).splitlines()[0]}", flush=True)
        ray.shutdown()
