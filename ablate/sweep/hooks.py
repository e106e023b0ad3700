"""Hydra callbacks that start a sweep, store the outcome of each run, and end the sweep."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError

from ablate.config.check import check_groups
from ablate.config.interpolations import explain_interpolation
from ablate.errors import UserError


@contextmanager
def _exiting(config: DictConfig) -> Iterator[None]:
    """End the process with status 2 after a UserError or an interpolation without a value, and with
    status 3 after any other error.
    """
    try:
        yield
    except InterpolationResolutionError as error:
        words: Any = OmegaConf.to_container(config.hydra.overrides.task, resolve=False)
        given = ", ".join(word for word in words if "${" in word) or error.full_key
        print(f"ablate: {given}: {explain_interpolation(error)}", file=sys.stderr)
        sys.exit(2)
    except UserError as error:
        print(f"ablate: {error}", file=sys.stderr)
        sys.exit(2)
    except Exception:  # Hydra would only print a warning, and continue or exit with status 0
        traceback.print_exc()
        sys.exit(3)


class SweepHooks(Callback):
    """The callbacks of a sweep: they register its study, store outcomes, and compute the
    verdict.
    """

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Check and register the study.

        The process exits with status 2 if the config or the study is invalid, and with status 3
        after an unexpected error.
        """
        with _exiting(config):
            check_groups(config)
            print(f"{config.name}: preparing the study", file=sys.stderr, flush=True)
            from ablate.sweep.begin import begin

            begin(config)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Store the outcome of a run of a sweep; Hydra calls this in the process that ran it."""
        from ablate.sweep.cell import write_link

        if config.hydra.mode != RunMode.MULTIRUN:
            return
        result: Any
        try:
            with redirect_stderr(StringIO()):  # suppress Hydra's message about the error
                result = job_return.return_value
        except Exception as error:
            result = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        write_link(Path(config.hydra.sweep.dir), config, result)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Conclude the sweep: one worker judges the runs and writes the report.

        The process exits with status 1 if a run failed, with status 2 after a UserError, and with
        status 3 after any other error.
        """
        from ablate.config.construct import construct
        from ablate.sweep.end import end, show
        from ablate.sweep.share import conclude

        with _exiting(config):
            works_here = construct(config.engine).works_here
            failed = conclude(config, end, None if works_here else show)
        if failed:
            sys.exit(1)
