"""A job: the config of a run, the objects that the config describes, its data and its model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.plugins.precision import (
    DoublePrecision,
    HalfPrecision,
    MixedPrecision,
    Precision,
)

from ablate.adapt import Adapt
from ablate.data.corpus import Corpus
from ablate.data.module import TextData
from ablate.data.scheme import Scheme
from ablate.data.tokenizer import Given, Tokenizers
from ablate.initial import Initial
from ablate.loss import Loss
from ablate.metric import SplitMetric
from ablate.model.base import Model, build
from ablate.optimizer import Factory
from ablate.schedule import Schedule
from ablate.search import Search
from ablate.seeding import seed_of
from ablate.task import Task

if TYPE_CHECKING:  # most runs have neither
    from ablate.measure import Measure
    from ablate.probe import Probe


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
    probe: "Probe | None"
    measure: "Measure | None"
    metrics: Mapping[str, SplitMetric]
    callbacks: Mapping[str, Callback]
    loggers: Mapping[str, partial[Logger]]
    short: "Job | None" = None


def prepare_data(job: Job) -> TextData:
    """Return the data of a job, with vocabularies and token ids that are created or loaded from the
    cache.

    The vocabularies are also stored in the task of the job.

    Raises:
        UserError: the corpus, its vocabularies or the batch sizes cannot be used.
    """
    data = make_data(
        job.task,
        job.corpus,
        job.scheme,
        OmegaConf.to_object(job.config.batch),
        cache_dir=job.config.paths.cache,
        seed=seed_of(job.config),
    )
    data.prepare()
    job.task.begin(data.tokenizers)
    return data


def make_data(
    task: Task, corpus: Corpus, scheme: Scheme | Given, batch: Any, *, cache_dir: str, seed: int
) -> TextData:
    """Return a corpus as batches for a task.

    Args:
        task: the task, such as translation.
        corpus: the texts of all splits.
        scheme: method that learns vocabularies, or existing vocabularies.
        batch: the object of the config node `batch`.
        cache_dir: folder where token ids are cached.
        seed: seed of the order of batches.
    """
    kind: Callable[..., TextData] = TextData
    if batch.context is not None:
        from ablate.data.packed import PackedData

        kind = partial(PackedData, pack=task.pack)
    return kind(
        corpus=corpus,
        scheme=scheme,
        collate=task.batch,
        scored=task.scored,
        batch=batch,
        cache_dir=cache_dir,
        seed=seed,
    )


def make_model(job: Job, data: TextData) -> Model:
    """Return a new model of a job, in training mode, with the initial weights that the seed of the
    job determines.
    """
    model, seed = build_model(job, data), seed_of(job.config)
    job.initial(model, data.tokenizers, seed)
    job.adapt(model, seed)
    return model


def build_model(job: Job, data: TextData) -> Model:
    """Build the model of a job for the vocabularies of the data.

    Under `torch.device("meta")` the parameters have shapes but no values.
    """
    return build_for(job.task, data.tokenizers, job.config.model)


def build_for(task: Task, tokenizers: Tokenizers, node: DictConfig) -> Model:
    """Build the model of a config node for a task and its vocabularies."""
    sources = tokenizers.src.size if task.reads_source else 0
    targets, joint = tokenizers.tgt.size, tokenizers.joint
    return build(node, src_vocab=sources, tgt_vocab=targets, joint_vocab=joint)


def precision_plugin(precision: Any, device: str | torch.device) -> Precision:
    """Return Lightning's plug-in for a resolved `trainer.precision`.

    The method `convert_module` gives a model the types of the run, and `forward_context` returns
    the context in which the trainer calls the model.
    """
    if precision.endswith("-mixed"):
        return MixedPrecision(precision, torch.device(device).type)
    if precision in ("16-true", "bf16-true"):
        return HalfPrecision(precision)
    return {"32-true": Precision, "64-true": DoublePrecision}[precision]()


def parameters(model: Model) -> int:
    """Return the number of trained parameters of a model; shared parameters count once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
