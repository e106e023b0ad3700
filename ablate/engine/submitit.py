"""Run workers as jobs of a Slurm array through submitit; Slurm queues and requeues the jobs.

Before the time limit of a job, its runs save their state. Then the job is queued again.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ablate.engine.base import LOGS, Engine, Worker, needs


class Submitit(Engine):
    """An engine that runs `workers` Slurm jobs.

    `parameters` are arguments of submitit's AutoExecutor (timeout_min, cpus_per_task, ...).
    `cluster` is the executor of submitit, such as slurm or local; None: submitit's choice.
    """

    def __init__(self, *, workers: int, parameters: dict[str, object], cluster: str | None) -> None:
        needs("submitit", "submitit")
        self.workers = workers
        self.parameters = parameters
        self.cluster = cluster

    def work(self, here: Callable[[], None], elsewhere: Sequence[str], folder: Path) -> None:
        """Start all jobs and wait for them.

        If a job dies, the other jobs take over its cells (runs of the sweep).
        """
        import submitit

        executor = submitit.AutoExecutor(folder=folder / "jobs", cluster=self.cluster)
        executor.update_parameters(**self.parameters)
        with executor.batch():
            jobs = [
                executor.submit(Job(elsewhere, os.getcwd(), folder / LOGS))
                for _ in range(self.workers)
            ]
        for job in jobs:
            try:
                job.result()
            except Exception as error:  # of any type; the other jobs are still waited for
                print(f"job {job.job_id} is lost: {str(error).splitlines()[-1]}", flush=True)


class Job(Worker):
    """A worker that submitit queues again when Slurm preempts it."""

    def checkpoint(self) -> Any:
        """End the runs of this job, and return the submission of a new job that continues the
        runs.
        """
        import submitit

        self.end()
        return submitit.helpers.DelayedSubmission(Job(self.command, self.folder, self.logs))
