"""A logger that fails costs its log, never the run.

Every logger but the run's own record stands behind a `GuardedLogger`. The first error of any of
its methods or properties, when it starts, logs, shows or ends, becomes one warning. From then on
the logger is Lightning's `DummyLogger`, which takes every call and does nothing. A logger that
asks Python to exit has failed as well; only a signal or Ctrl-C ends the run.
"""

import inspect
import sys
from collections.abc import Callable
from typing import Any

from pytorch_lightning.loggers.logger import DummyLogger, Logger

from ablate.errors import UserError
from ablate.train.interruption import Interrupted
from ablate.train.run_logger import RunLogger

ENDS_THE_RUN = (Interrupted, KeyboardInterrupt)


class GuardedLogger:
    """A stand-in for a logger; to whoever asks, it is an instance of the logger's class.

    Args:
        name: of the logger, for the warning.
        make: returns the logger.
        note: takes the sentence about a failure, for the record of the run.

    Raises:
        UserError: `make` refuses its settings, which is wrong input and no failure of a logger.
    """

    def __init__(self, name: str, make: Callable[[], Logger], note: Callable[[str], None]) -> None:
        self._name = name
        self._note = note
        self._logger: Any = DummyLogger()
        try:
            self._logger = make()
        except (UserError, *ENDS_THE_RUN):
            raise
        except BaseException as error:
            self._replace(error)
        self._kind = type(self._logger)

    @property  # type: ignore[misc]  # callbacks look for loggers of a class
    def __class__(self) -> type:
        return self._kind

    def __getattr__(self, name: str) -> Any:
        logger = self._logger
        try:
            value = getattr(logger, name)
        except ENDS_THE_RUN:
            raise
        except BaseException as error:
            if isinstance(error, AttributeError) and not hasattr(type(logger), name):
                raise  # there is no such attribute, and Lightning asks whether there is
            self._replace(error)
            return getattr(self._logger, name)
        return self._guarded(logger, value) if inspect.isroutine(value) else value

    def _guarded(self, logger: Any, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if self._logger is not logger:  # it has failed since somebody asked for the method
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
        """Warn, let the logger free what it holds, and put one that does nothing in its place."""
        failed, self._logger = self._logger, DummyLogger()
        reason = next(iter(str(error).splitlines()), "no reason given")
        sentence = f"{self._name} failed ({type(error).__name__}: {reason})"
        if not isinstance(failed, RunLogger):  # which knows itself what it lacks
            self._note(sentence)
        print(
            f"warning: {sentence} and logs nothing "
            f"more of this run. The run goes on and its record is whole{advice_of(failed)}.",
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
    """Return what to do about a failure of a logger."""
    return f"; {logger.advice}" if isinstance(logger, RunLogger) and logger.advice else ""
