"""Define a job: the config of a run, with the objects that the config describes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytorch_lightning as pl
from omegaconf import DictConfig
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers.logger import Logger

from ablate.adapt import Adapt
from ablate.data.pairs import Corpus
from ablate.data.scheme import Scheme
from ablate.initial import Initial
from ablate.loss import Loss
from ablate.measure import Measure
from ablate.metric import SplitMetric
from ablate.model.base import Model
from ablate.optimizer import Factory
from ablate.probe import Probe
from ablate.schedule import Schedule
from ablate.search import Search
from ablate.task import Task


@dataclass(frozen=True)
class Job:
    """A run that is ready to start: its config and its components; `ablate.train.resolve` makes a
    job.

    Every component is constructed once and serves the whole run. A job can run only once, because a
    run changes the state of the task and of callbacks.

    Args:
        config: the config of the run, completed and checked.
        model: class of the model, which is built when the vocabularies are known.
        optimizer: function that returns the optimiser of given parameters.
        trainer: function that returns Lightning's trainer.
        metrics: the user's metrics, by name.
        callbacks: the user's callbacks, by their keys below `callbacks`.
        loggers: functions that return a logger, given `save_dir`; by their keys in the config.
        short: the job of the run with `budget.short` steps, if the config sets that budget.
    """

    config: DictConfig
    model: type[Model]
    corpus: Corpus
    scheme: Scheme
    task: Task
    initial: Initial
    adapt: Adapt
    loss: Loss
    optimizer: Factory
    schedule: Schedule
    validation_search: Search
    search: Search
    trainer: Callable[..., pl.Trainer]
    probe: Probe | None
    measure: Measure | None
    metrics: Mapping[str, SplitMetric]
    callbacks: Mapping[str, Callback]
    loggers: Mapping[str, Callable[..., Logger]]
    short: "Job | None" = None
