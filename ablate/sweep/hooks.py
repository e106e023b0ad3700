"""What happens around the jobs of a sweep, under any Hydra launcher."""

import sys
import traceback
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig


class SweepHooks(Callback):
    """Remembers every cell, and ends the sweep with its table and its verdict."""

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Write down what became of a cell; called in the process that ran it."""
        from ablate.sweep.cell import write_link

        if config.hydra.mode != RunMode.MULTIRUN:
            return
        error = job_return._return_value
        found: Any = error
        if job_return.status != JobStatus.COMPLETED:
            found = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        sweep = Path(config.hydra.sweep.dir)
        write_link(sweep, config.hydra.job.num, list(config.hydra.overrides.task), found)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Print the table and the verdicts; exit status 1 when a run failed."""
        from ablate.study.conclude import conclude

        try:
            failed = conclude(config)
        except Exception:  # Hydra would turn it into a warning and exit with status 0
            traceback.print_exc()
            sys.exit(3)
        if failed:
            sys.exit(1)
