"""Manage the loggers of a run: the logger of its own folder, and the loggers that the config
names.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytorch_lightning as pl
from omegaconf import OmegaConf
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers.logger import Logger

from ablate.config.construct import building
from ablate.record.training import Record
from ablate.record.types import CombinedResult, Failure
from ablate.train.guard import GuardedLogger
from ablate.train.job import Job
from ablate.train.module import Training
from ablate.train.record_logger import RecordLogger
from ablate.train.run_logger import RunLogger

Loggers = Mapping[str, Callable[..., Logger]]  # factories, by their keys in the config


class Tracking(Callback):
    """A context manager that starts the loggers with a run and closes them with the run, also if
    the run fails. As a callback, it tells the loggers when a validation has ended.

    The config node `logger` may name any of Lightning's loggers, or several. A `RunLogger` receives
    further events. Only an error while writing the run's own folder ends the run.
    """

    def __init__(self, loggers: Loggers, record: Record) -> None:
        self.record = record
        self.record_logger = RecordLogger(record)
        self._guarded = [
            GuardedLogger(
                _label(key, make),
                partial(make, save_dir=str(record.folder)),
                record.note_logger_failure,
            )
            for key, make in loggers.items()
        ]
        guarded: list[Any] = self._guarded
        self.loggers: list[Logger] = [self.record_logger, *guarded]
        self._run_loggers = [logger for logger in guarded if isinstance(logger, RunLogger)]

    def count_by(self, steps_done: Callable[[], int]) -> None:
        """Set the function that returns the number of optimiser steps, the x-axis of logged
        values.
        """
        self.record_logger.steps_done = steps_done
        for logger in self._guarded:
            logger.steps_done = steps_done

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let the loggers log samples of the model's output."""
        assert isinstance(pl_module, Training)  # the module that a run trains
        for logger in self._run_loggers:
            logger.validated(pl_module)

    def show(self, task: Training) -> None:
        """Let the loggers log pictures of the tested model, such as attention maps."""
        for logger in self._run_loggers:
            logger.show(task)

    def __enter__(self) -> "Tracking":
        for logger in self._run_loggers:
            logger.begin(self.record)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        result = None if error else self.record.stored_result()
        for logger in self._run_loggers:
            logger.end(result or failure(error, self.record))


def _kind(make: Callable[..., Logger]) -> Any:
    """Return the class or function that a nested `functools.partial` calls."""
    return getattr(make, "func", make)


def _label(key: str, make: Callable[..., Logger]) -> str:
    return f"{key} ({getattr(_kind(make), '__name__', 'a logger')})"


def check_loggers(job: Job) -> None:
    """Check the settings of loggers before any work, for loggers that have a method to check them.

    A logger of another library is not constructed here, because its constructor may already write
    files or connect to a server.

    Raises:
        UserError: a setting cannot work, or a logger is not installed.
    """
    for key, make in job.loggers.items():
        kind = _kind(make)
        if isinstance(kind, type) and not issubclass(kind, RunLogger):
            continue
        with building(key, OmegaConf.select(job.config, key)):
            logger: Any = make(save_dir=job.config.paths.results)
        if isinstance(logger, RunLogger):
            logger.check()


def advise_reused(loggers: Loggers, record: Record, result: CombinedResult) -> None:
    """Print advice on how to log a run whose stored result was used again, if the run has not been
    logged.
    """
    for make in loggers.values() if record.writes else ():
        kind = _kind(make)
        if isinstance(kind, type) and issubclass(kind, RunLogger):
            logger: Any = make(save_dir=str(record.folder))
            if advice := logger.advise_reused(record, result):
                print(advice, flush=True)


def failure(error: BaseException | None, record: Record) -> Failure:
    """Return the result of a run that was ended by an error, in the form that loggers receive.

    `error` is None if the run ended without a result and without an exception.
    """
    text = f"{type(error).__name__}: {error}" if error else "no result was written"
    return {"status": "failed", "error": text, "metrics": {}, "seconds": record.seconds}
