"""Manage the loggers of a run: the logger of its own folder, and the loggers that the config
names.
"""

import inspect
from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytorch_lightning as pl
from omegaconf import OmegaConf
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from ablate.config.construct import building
from ablate.record.training import Record
from ablate.record.types import CombinedResult, Failure
from ablate.train.guard import GuardedLogger
from ablate.train.guard import RunLogger as RunLogger
from ablate.train.job import Job
from ablate.train.module import Training
from ablate.train.progress import SPEED

Loggers = Mapping[str, Callable[..., Logger]]  # factories, by their keys in the config
# the lines of a repeated run are equal except for their times, so these metrics are left out
LEFT_OUT = ("epoch", SPEED)


class RecordLogger(Logger):
    """A logger that appends metrics to the file metrics.jsonl in the run's folder.

    Every run has this logger, whatever the config sets for `logger`.
    """

    def __init__(self, record: Record, steps_done: Callable[[], int]) -> None:
        super().__init__()
        self.record, self.steps_done = record, steps_done

    @property
    def name(self) -> str:
        """The logger's name."""
        return "record"

    @property
    def version(self) -> str:
        """The run's identity, a digest of its config."""
        return self.record.identity

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Append the metrics to the file as a JSON line."""
        values = {k: float(v) for k, v in metrics.items() if k not in LEFT_OUT}
        self.record.log(values, self.steps_done())

    def log_hyperparams(
        self, params: dict[str, object] | Namespace, *args: Any, **kwargs: Any
    ) -> None:
        """Do nothing: the run's folder already contains the config."""


class Tracking(Callback):
    """A context manager that starts the loggers with a run and closes them with the run, also if
    the run fails. As a callback, it tells the loggers when a validation has ended.

    The config node `logger` may name any of Lightning's loggers, or several. A `RunLogger` receives
    further events. Only an error while writing the run's own folder ends the run.
    """

    def __init__(self, loggers: Loggers, record: Record) -> None:
        self.record = record
        self._trainer: pl.Trainer | None = None
        guarded: list[Any] = [
            GuardedLogger(
                _label(key, make),
                partial(make_logger, make, str(record.folder)),
                record.note_logger_failure,
                self.steps_done,
            )
            for key, make in loggers.items()
        ]
        self.loggers: list[Logger] = [RecordLogger(record, self.steps_done), *guarded]
        self._run_loggers = [logger for logger in guarded if isinstance(logger, RunLogger)]

    def steps_done(self) -> int:
        """Return the number of optimiser steps, the x-axis of logged values.

        Lightning's own numbers count from 0 during training and from 1 afterwards.
        """
        return self._trainer.global_step if self._trainer else 0

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Store the trainer, which counts the steps."""
        self._trainer = trainer

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let the loggers log samples of the model's output.

        The model still has the weights that were validated, because this callback comes before
        those of the user, which may swap them.
        """
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
        result: CombinedResult | Failure | None = None if error else self.record.stored_result()
        if result is None:
            text = f"{type(error).__name__}: {error}" if error else "no result was written"
            seconds = self.record.seconds
            result = {"status": "failed", "error": text, "metrics": {}, "seconds": seconds}
        for logger in self._run_loggers:
            logger.end(result)


def make_logger(make: Callable[..., Logger], folder: str) -> Logger:
    """Return a new logger, which writes into a folder as its `save_dir`.

    A logger whose config names another folder, or whose constructor takes no `save_dir`, is made
    without this argument.
    """
    takes_folder = "save_dir" in inspect.signature(make).parameters
    named = "save_dir" in getattr(make, "keywords", {})
    return make(save_dir=folder) if takes_folder and not named else make()


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
            logger: Any = make_logger(make, job.config.paths.results)
        if isinstance(logger, RunLogger):
            logger.check()
