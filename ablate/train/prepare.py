"""Prepare the data of a job and build its model."""

from functools import partial
from typing import Any

from omegaconf import OmegaConf

from ablate.data.module import TextData
from ablate.data.packed import PackedData
from ablate.data.pairs import Corpus
from ablate.data.scheme import Scheme
from ablate.data.tokenizer import Given
from ablate.model.base import Model, build
from ablate.seeding import seed_of
from ablate.task import Task
from ablate.train.job import Job


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
    kind = TextData if batch.context is None else partial(PackedData, pack=task.pack)
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
    return build(
        job.config.model,
        src_vocab=data.tokenizers.src.size if job.task.reads_source else 0,
        tgt_vocab=data.tokenizers.tgt.size,
        joint_vocab=data.tokenizers.joint,
    )


def parameters(model: Model) -> int:
    """Return the number of trained parameters of a model; shared parameters count once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
