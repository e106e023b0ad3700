"""The interface of loggers that follow a run, and the protection of a run from errors of its
loggers: a logger that fails stops logging, but the run continues.

Every logger is wrapped in a `GuardedLogger`, except the logger that writes the run's own folder.
The first error of any method or property of a logger becomes a warning. From then on, the logger is
replaced by Lightning's `DummyLogger`, which accepts every call and does nothing. A logger that
calls `sys.exit` counts as failed as well; only a signal or Ctrl-C ends the run.
"""

import functools
import inspect
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pytorch_lightning.loggers import TensorBoardLogger
from pytorch_lightning.loggers.logger import DummyLogger, Logger

from ablate.errors import UserError, class_and_line
from ablate.record.training import Record
from ablate.record.types import CombinedResult, Failure
from ablate.train.interruption import Interrupted
from ablate.train.module import Training

ENDS_THE_RUN = (Interrupted, KeyboardInterrupt)


class RunLogger(ABC):
    """A logger that follows a run from its start to its end, and logs more than metrics, such as
    sample texts and pictures.
    """

    @abstractmethod
    def check(self) -> None:
        """Raise UserError for settings that cannot work; this is called before any work."""

    @abstractmethod
    def begin(self, record: Record) -> None:
        """Start to log a run; the folder of the run exists."""

    @abstractmethod
    def validated(self, task: Training) -> None:
        """Log samples of the model's output after a validation."""

    @abstractmethod
    def show(self, task: Training) -> None:
        """Log pictures of the model, such as attention maps; the model has the weights that will be
        tested.
        """

    @abstractmethod
    def end(self, result: CombinedResult | Failure) -> None:
        """Log the final result of the run (the content of result.json), or its failure."""

    @abstractmethod
    def abandon(self) -> None:
        """Release the resources of the logger after a failure; no other method is called
        afterwards.
        """


class GuardedLogger:
    """A wrapper of a logger that turns its errors into warnings; `isinstance` sees the logger's
    class.

    Args:
        name: name of the logger, for the warning.
        make: function that returns the logger.
        note: function that stores the warning in the folder of the run.
        steps_done: function that returns the number of optimiser steps.

    Raises:
        UserError: `make` rejects its arguments. Wrong arguments are not a failure of the logger.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Logger],
        note: Callable[[str], None],
        steps_done: Callable[[], int] = lambda: 0,
    ) -> None:
        self._name, self._note, self._steps_done = name, note, steps_done
        self._logger: Any = DummyLogger()
        with self._replacing(UserError):
            self._logger = make()
        self._kind = type(self._logger)

    @property  # type: ignore[misc]  # callbacks search for loggers of a class
    def __class__(self) -> type:
        return self._kind

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log metrics at the number of optimiser steps that `steps_done` returns.

        Lightning's own `step` counts from 0 during training and from 1 afterwards.
        """
        self.__getattr__("log_metrics")(metrics, self._steps_done())

    def __getattr__(self, name: str) -> Any:
        logger = self._logger
        # Lightning tests for attributes that do not exist
        missing = () if hasattr(type(logger), name) else (AttributeError,)
        with self._replacing(*missing):
            value = getattr(logger, name)
            return self._guarded(logger, value) if inspect.isroutine(value) else value
        return getattr(self._logger, name)

    def _guarded(self, logger: Any, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if self._logger is logger:  # the logger has not failed since the method was looked up
                with self._replacing():
                    return method(*arguments, **named)
            return None

        return call

    @contextmanager
    def _replacing(self, *passed: type[BaseException]) -> Iterator[None]:
        """Replace the logger if a `with` block raises an exception, except the types in `passed`
        and those that end the run.
        """
        try:
            yield
        except BaseException as error:
            if isinstance(error, (*ENDS_THE_RUN, *passed)):
                raise
            self._replace(error)

    def _replace(self, error: BaseException) -> None:
        """Print a warning, let the logger release its resources, and replace the logger by a
        `DummyLogger`.
        """
        failed, self._logger = self._logger, DummyLogger()
        sentence = f"{self._name} failed ({class_and_line(error)})"
        self._note(sentence)
        print(
            f"warning: {sentence}, so it logs nothing more of this run. The run goes on, and the "
            "run's folder will have all results.",
            file=sys.stderr,
            flush=True,
        )
        try:
            failed.abandon() if isinstance(failed, RunLogger) else failed.finalize("failed")
        except ENDS_THE_RUN:
            raise
        except BaseException:
            pass  # the warning has said that the logger failed


def tensorboard(*, save_dir: str, name: str) -> TensorBoardLogger:
    """Return Lightning's logger for TensorBoard, which is an optional dependency.

    No other arguments of this logger can be set, because they could not be checked.

    Raises:
        UserError: TensorBoard is not installed.
    """
    silence_writer()
    try:
        return TensorBoardLogger(save_dir, name=name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"logger=tensorboard: {error}; pip install 'ablate[tensorboard]', or choose logger=csv"
        ) from None


@functools.cache
def silence_writer() -> None:
    """Stop Python from printing errors of TensorBoard's background thread.

    The next call of the logger raises such an error again. `GuardedLogger` then prints the error as
    a warning.
    """
    usual = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not type(failure.thread).__module__.startswith("tensorboard."):
            usual(failure)

    threading.excepthook = hook
