"""Hydra callbacks that start a sweep and store the outcome of each run."""

import sys
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from ablate.config.check import check_groups
from ablate.errors import CallbackError


class SweepHooks(Callback):
    """The callbacks of a sweep: they check its study, and store outcomes."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Check and register the study.

        Raises:
            CallbackError: the config or the study is invalid, or an unexpected error occurred.
                Hydra would turn an Exception into a warning.
        """
        try:
            check_groups(config)
            print(f"{config.name}: preparing the study", file=sys.stderr, flush=True)
            from ablate.sweep.begin import begin

            begin(config)
        except Exception as error:
            raise CallbackError(error) from None

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Store the outcome of a run of a sweep; Hydra calls this in the process that ran it."""
        if config.hydra.mode != RunMode.MULTIRUN:
            return
        from ablate.sweep.cell import write_link

        result: Any
        try:
            with redirect_stderr(StringIO()):  # suppress Hydra's message about the error
                result = job_return.return_value
        except Exception as error:
            result = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        write_link(Path(config.hydra.sweep.dir), config, result)
