"""Check, before the first step, that the data allow training and tests, and describe the data."""

from typing import Any

from omegaconf import DictConfig

from ablate.config.notice import say_once
from ablate.data.module import TextData
from ablate.errors import UserError, class_and_line
from ablate.train.job import Job

READ = 1000  # number of lines of a split that are checked


def check_inputs(job: Job, data: TextData) -> None:
    """Raise UserError for a split with which the job cannot train, validate or test."""
    check_tests(job, data)
    if job.measure is not None:
        job.measure.check(data)
    check_batch_limits(job.config, data)


def check_tests(job: Job, data: TextData) -> None:
    """Read every test split as its test will, and score the reference texts against themselves.

    Raises:
        UserError: a split is missing, its files do not fit one another, a batch is too small for
            its sentences, or a metric fails on them.
    """
    for split in job.config.test_splits:
        if split not in data.counts:
            raise UserError(
                f"test_splits has {split}, which this corpus does not have; "
                f"allowed is {', '.join(data.counts)}"
            )
        if job.probe is None:
            data.check_test(split)
            check_metrics(job, data, split)


def check_metrics(job: Job, data: TextData, split: str) -> None:
    """Raise UserError for a metric of the user that returns no number for the first lines of a
    split.
    """
    sources, references = data.sources(split)[:READ], data.references(split)[:READ]
    for name, metric in job.metrics.items():
        try:
            float(metric(sources, references, references))
        except Exception as error:  # the user's metric can raise any type
            raise UserError(
                f"metric.{name} returns no number for the references of {split} "
                f"({class_and_line(error)}): repair it, or set metric=none"
            ) from None


def introduce(job: Job, data: TextData) -> None:
    """Print, once per process, which corpus is read, its size, which of its splits are taken from
    the training text, and a warning for each test split whose scores would be meaningless.
    """
    say_once("; ".join(filter(None, [f"corpus: {data.about}", data.division])))
    evaluation = job.task.evaluation(data.languages[1], thorough=False)
    for split in job.config.test_splits if job.probe is None else ():
        if reason := evaluation.doubt(data.references(split)[:READ]):
            say_once(f"warning, {split}: {reason}")


def check_batch_limits(config: DictConfig, data: TextData) -> None:
    """Raise UserError if a batch limit of the trainer leaves no batch, no complete optimiser step,
    or no complete validation interval.
    """
    for name, loader in (("train", data.train_dataloader), ("val", data.val_dataloader)):
        share: Any = config.trainer.get(f"limit_{name}_batches")
        if isinstance(share, float) and share < 1 and not int(share * len(loader())):
            raise UserError(
                f"trainer.limit_{name}_batches={share} of {len(loader())} batches is less than one "
                f"batch: set at least {1 / len(loader()):.2g}"
            )
    limit: Any = config.trainer.get("limit_train_batches")
    batches = len(data.train_dataloader())
    if limit is not None:
        batches = min(batches, limit) if isinstance(limit, int) else int(limit * batches)
    if (accumulated := config.trainer.accumulate_grad_batches) > batches:
        raise UserError(
            f"trainer.accumulate_grad_batches={accumulated} is more than the {batches} batches of "
            f"an epoch, and every epoch ends with a step: set {batches} or less"
        )
    interval: Any = config.trainer.get("val_check_interval")
    if config.trainer.get("check_val_every_n_epoch") is None or not isinstance(interval, int):
        return
    if interval > batches:
        raise UserError(
            f"trainer.val_check_interval={interval} is more than the {batches} batches of an "
            "epoch: set budget.validate_every to a smaller number, or "
            "trainer.check_val_every_n_epoch=null"
        )
