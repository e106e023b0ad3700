"""A run before its work: its config, and the components that the config names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytorch_lightning as pl
from omegaconf import DictConfig
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers.logger import Logger

from ablate.adapt.base import Adapt
from ablate.data.pairs import Corpus
from ablate.data.scheme.base import Scheme
from ablate.initial.base import Initial
from ablate.loss.base import Loss
from ablate.measure.base import Measure
from ablate.metric.base import SplitMetric
from ablate.model.base import Model
from ablate.optimizer.base import Factory
from ablate.probe.base import Probe
from ablate.schedule.base import Schedule
from ablate.search.base import Search
from ablate.task.base import Task


@dataclass(frozen=True)
class Job:
    """A run that is ready to start; `ablate.train.resolve` makes it from a config.

    Every component is constructed once and serves the whole run. The task and the callbacks change
    during a run, so that a job runs once.

    Args:
        config: of the run, settled and checked.
        model: class of the model, which is built as soon as the vocabularies are there.
        optimizer: returns the optimiser of some parameters.
        trainer: returns Lightning's trainer.
        metrics: of the user's own, by name.
        callbacks: of the user's own, by their keys below `callbacks`.
        loggers: each returns a logger for a `save_dir`; by their keys in the config.
        short: the job of the short budget, if there is one.
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
