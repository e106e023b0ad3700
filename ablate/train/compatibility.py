"""Check, before any data is read, that the model, task, loss, batches and metrics of a job fit
together.
"""

import torch

from ablate.config.construct import building
from ablate.data.pairs import Corpus
from ablate.errors import UserError
from ablate.optimizer.base import make_optimizer
from ablate.task.base import Task
from ablate.train.callbacks import check_callbacks
from ablate.train.job import Job


def check_compatibility(job: Job) -> None:
    """Raise UserError for the first component of a job that does not fit another component."""
    check_task(job)
    check_sources(job.task, job.corpus)
    check_probe(job)
    check_measure(job)
    check_optimizer(job)
    # raises UserError for a language that it cannot score
    job.task.evaluation(job.corpus.languages[1], thorough=True)
    check_metrics(job)
    check_callbacks(job)


def check_task(job: Job) -> None:
    """Raise UserError if the task (translation or language modelling) does not fit the model, the
    batches or the loss.
    """
    task, inputs, model = type(job.task).__name__, job.task.inputs, job.model
    if inputs not in model.takes:
        takes = " or ".join(sorted(kind.__name__ for kind in model.takes))
        raise UserError(
            f"task produces {inputs.__name__} inputs, but model {model.__name__} takes {takes}: "
            "choose another model or another task"
        )
    if job.config.batch.context is not None and not job.task.packs:
        raise UserError(
            f"batch.context is {job.config.batch.context}, but task {task} reads whole "
            "texts: set batch.context=null, or choose task=language_model"
        )
    if job.loss.counts_padding and not job.task.scores_all:
        raise UserError(
            f"loss counts padding, but the targets of task {task} are PAD wherever nothing is to "
            "be predicted: choose another loss"
        )


def check_sources(task: Task, corpus: Corpus) -> None:
    """Raise UserError if the task translates, but the texts of the corpus have no sources."""
    if task.generates and not corpus.languages[0]:
        raise UserError(
            f"data is {type(corpus).__name__}, whose texts have no sources to translate: choose a "
            "corpus of sentence pairs, or train a language model (scale=language)"
        )


def check_probe(job: Job) -> None:
    """Raise UserError if the probe, which examines an untrained model, does not support the
    model.
    """
    if job.probe is not None and not issubclass(job.model, job.probe.needs):
        raise UserError(
            f"probe measures a {job.probe.needs.__name__}, but model is {job.model.__name__}: "
            "choose another model, or probe=none"
        )


def check_measure(job: Job) -> None:
    """Raise UserError if the measure, which examines the trained model, does not support the model
    or the corpus.
    """
    if job.measure is None:
        return
    for key, kind, wanted in (
        ("model", job.model, job.measure.needs),
        ("data", type(job.corpus), job.measure.knows),
    ):
        if not issubclass(kind, wanted):
            raise UserError(
                f"measure needs a {wanted.__name__}, but {key} is {kind.__name__}: choose another "
                f"{key}, or measure=none"
            )


def check_optimizer(job: Job) -> None:
    """Raise UserError if the optimiser rejects its arguments, or would divide by 0."""
    with building("optimizer", job.config.optimizer):
        # The meta device draws no weights, so the global random state does not change.
        layer = torch.nn.Linear(1, 1, bias=False, device="meta")
        optimizer = make_optimizer(job.optimizer, layer)
    eps = optimizer.defaults.get("eps")
    precision = str(job.config.trainer.precision)
    if precision == "16-true" and eps and not torch.tensor(eps, dtype=torch.float16):
        raise UserError(
            f"optimizer.eps={eps:g} is 0 in the float16 of trainer.precision=16-true, so that the "
            "optimiser would divide by 0: set optimizer.eps=1e-4, or trainer.precision=bf16-true"
        )


def check_metrics(job: Job) -> None:
    """Raise UserError for a metric of the user that the task cannot compute."""
    for name in job.metrics:
        if not job.task.generates:
            raise UserError(
                f"metric.{name} scores translations, but task {type(job.task).__name__} makes "
                "none: choose another task, or metric=none"
            )
        if name in job.task.metrics:
            raise UserError(
                f"metric.{name}: the task already has a metric of this name; rename the key"
            )
