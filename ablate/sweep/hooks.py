"""What happens around the jobs of a sweep."""

import sys
import traceback
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig


class SweepHooks(Callback):
    """Registers the study, remembers every cell, and ends the sweep with its verdict."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Check and register the study; exit status 2 when no rule could decide it."""
        print(f"{config.name}: preparing its study", file=sys.stderr, flush=True)
        from ablate.errors import UserError
        from ablate.sweep.begin import begin

        try:
            begin(config)
        except UserError as error:
            print(f"ablate: {error}", file=sys.stderr)
            sys.exit(2)
        except Exception:  # Hydra would turn it into a warning and go on
            traceback.print_exc()
            sys.exit(3)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Write down what became of a cell; called in the process that ran it."""
        from ablate.sweep.cell import write_link

        if config.hydra.mode != RunMode.MULTIRUN:
            return
        result: Any
        try:
            with redirect_stderr(StringIO()):  # Hydra prints a line of its own about an error
                result = job_return.return_value
        except Exception as error:
            result = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        write_link(Path(config.hydra.sweep.dir), config, result)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Print the table and the verdicts, write the report; exit status 1 when a run failed.

        One of the workers of the sweep does so.
        """
        from ablate.config.construct import construct
        from ablate.errors import UserError
        from ablate.sweep.end import end, show
        from ablate.sweep.share import conclude

        try:
            works_here = construct(config.engine).works_here
            failed = conclude(config, end, None if works_here else show)
        except UserError as error:
            print(f"ablate: {error}", file=sys.stderr)
            sys.exit(2)
        except Exception:  # Hydra would turn it into a warning and exit with status 0
            traceback.print_exc()
            sys.exit(3)
        if failed:
            sys.exit(1)
