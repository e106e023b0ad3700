"""Hydra callbacks that start a sweep, store the outcome of each run, and end the sweep."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from ablate.config.check import check_groups
from ablate.errors import CallbackError


@contextmanager
def _raising() -> Iterator[None]:
    """Raise an error of a `with` block as a CallbackError, which Hydra does not turn into a
    warning.
    """
    try:
        yield
    except Exception as error:
        raise CallbackError(error) from None


class SweepHooks(Callback):
    """The callbacks of a sweep: they register its study, store outcomes, and compute the
    verdict.
    """

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Check and register the study.

        Raises:
            CallbackError: the config or the study is invalid, or an unexpected error occurred.
        """
        with _raising():
            check_groups(config)
            print(f"{config.name}: preparing the study", file=sys.stderr, flush=True)
            from ablate.sweep.begin import begin

            begin(config)

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

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Conclude the sweep: one worker judges the runs and writes the report.

        The process exits with status 1 if a run failed.

        Raises:
            CallbackError: the sweep could not be judged.
        """
        from ablate.config.construct import construct
        from ablate.sweep.end import end, show
        from ablate.sweep.share import conclude

        with _raising():
            works_here = construct(config.engine).works_here
            failed = conclude(config, end, None if works_here else show)
        if failed:
            sys.exit(1)
