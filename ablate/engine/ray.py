"""Workers as tasks of a Ray cluster, which places them and starts again those that die."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ablate.engine.base import LOGS, Engine, Worker, needs
from ablate.errors import UserError


class Ray(Engine):
    """`cpus` and `gpus` are those of one worker, `restarts` how often one may die."""

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
        """Wait for all workers; one that died too often leaves the rest to the others.

        Raises:
            UserError: there is no cluster at the address.
        """
        os.environ.setdefault(
            "RAY_worker_niceness", "0"
        )  # Ray's own 15 starves runs on a busy machine
        import ray

        try:
            ray.init(
                address=self.address,
                ignore_reinit_error=True,
                logging_level=logging.WARNING,
                log_to_driver=False,  # the sweep has logs of its workers
                include_dashboard=False,
            )
        except (ConnectionError, ValueError) as error:
            raise UserError(f"engine.address={self.address}: {error}") from None
        worker = Worker(elsewhere, os.getcwd(), folder / LOGS)
        remote: Any = ray.remote  # its types know no options that are read from a config
        task = remote(**self.options)(Worker.__call__)
        for started in [task.remote(worker) for _ in range(self.workers)]:
            try:
                ray.get(started)
            except ray.exceptions.RayError as error:
                print(f"a worker is lost: {str(error).splitlines()[0]}", flush=True)
        ray.shutdown()
