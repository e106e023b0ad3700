"""Protect a run from errors of its loggers: a logger that fails stops logging, but the run
continues.

Every logger is wrapped in a `GuardedLogger`, except the logger that writes the run's own folder.
The first error of any method or property of a logger becomes a warning. From then on, the logger is
replaced by Lightning's `DummyLogger`, which accepts every call and does nothing. A logger that
calls `sys.exit` counts as failed as well; only a signal or Ctrl-C ends the run.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pytorch_lightning.loggers.logger import DummyLogger, Logger

from ablate.errors import UserError, class_and_line
from ablate.train.interruption import Interrupted
from ablate.train.run_logger import RunLogger

ENDS_THE_RUN = (Interrupted, KeyboardInterrupt)


class GuardedLogger:
    """A wrapper of a logger that turns its errors into warnings; `isinstance` sees the logger's
    class.

    Args:
        name: name of the logger, for the warning.
        make: function that returns the logger.
        note: function that stores the warning in the folder of the run.

    Raises:
        UserError: `make` rejects its arguments. Wrong arguments are not a failure of the logger.
    """

    def __init__(self, name: str, make: Callable[[], Logger], note: Callable[[str], None]) -> None:
        self._name = name
        self._note = note
        self.steps_done: Callable[[], int] = lambda: 0
        self._logger: Any = DummyLogger()
        try:
            self._logger = make()
        except (UserError, *ENDS_THE_RUN):
            raise
        except BaseException as error:
            self._replace(error)
        self._kind = type(self._logger)

    @property  # type: ignore[misc]  # callbacks search for loggers of a class
    def __class__(self) -> type:
        return self._kind

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log metrics at the number of optimiser steps that `steps_done` returns.

        Lightning's own `step` counts from 0 during training and from 1 afterwards.
        """
        self.__getattr__("log_metrics")(metrics, self.steps_done())

    def __getattr__(self, name: str) -> Any:
        logger = self._logger
        try:
            value = getattr(logger, name)
        except ENDS_THE_RUN:
            raise
        except BaseException as error:
            if isinstance(error, AttributeError) and not hasattr(type(logger), name):
                raise  # the attribute does not exist, and Lightning tests for it
            self._replace(error)
            return getattr(self._logger, name)
        return self._guarded(logger, value) if inspect.isroutine(value) else value

    def _guarded(self, logger: Any, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if self._logger is not logger:  # the logger has failed since the method was looked up
                return None
            try:
                return method(*arguments, **named)
            except ENDS_THE_RUN:
                raise
            except BaseException as error:
                self._replace(error)
                return None

        return call

    def _replace(self, error: BaseException) -> None:
        """Print a warning, let the logger release its resources, and replace the logger by a
        `DummyLogger`.
        """
        failed, self._logger = self._logger, DummyLogger()
        sentence = f"{self._name} failed ({class_and_line(error)})"
        if not isinstance(failed, RunLogger):  # a RunLogger reports its gaps itself
            self._note(sentence)
        print(
            f"warning: {sentence}, so it logs nothing more of this run. The run goes on, and the "
            f"run's folder will have all results{advice_of(failed)}.",
            file=sys.stderr,
            flush=True,
        )
        try:
            failed.abandon() if isinstance(failed, RunLogger) else failed.finalize("failed")
        except ENDS_THE_RUN:
            raise
        except BaseException:
            pass  # the warning has said that the logger failed


def advice_of(logger: Logger) -> str:
    """Return the advice of a logger on what the user can do after it has failed, or ""."""
    return f"; {logger.advice}" if isinstance(logger, RunLogger) and logger.advice else ""
