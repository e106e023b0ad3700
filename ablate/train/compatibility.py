"""Check, before the first step, that the parts of a job fit together: the components with one
another, and the components with the data.
"""

from collections.abc import Iterator
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from torch.nn import RNNBase

from ablate.config.construct import building
from ablate.data.corpus import Corpus
from ablate.data.module import TextData
from ablate.errors import UserError, class_and_line
from ablate.model.base import CausalDocuments, Model, Seq2Seq
from ablate.optimizer import make_optimizer
from ablate.search import Search
from ablate.task import Task
from ablate.train.callbacks import check_callbacks
from ablate.train.job import Job

READ = 1000  # number of lines of a split that are checked

Need = tuple[int, str]  # number of tokens, and the texts that have so many


def check_compatibility(job: Job) -> None:
    """Raise UserError for the first component of a job that does not fit another component; this is
    called before any data is read.
    """
    check_task(job)
    check_sources(job.task, job.corpus)
    check_measures(job)
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


def check_measures(job: Job) -> None:
    """Raise UserError if the probe, which examines an untrained model, or the measure, which
    examines the trained model, does not support the model or the corpus.
    """
    wanted: list[tuple[str, str, type, type]] = []
    if job.probe is not None:
        wanted.append(("probe", "model", job.model, job.probe.needs))
    if job.measure is not None:
        wanted.append(("measure", "model", job.model, job.measure.needs))
        wanted.append(("measure", "data", type(job.corpus), job.measure.knows))
    for factor, key, kind, interface in wanted:
        if not issubclass(kind, interface):
            raise UserError(
                f"{factor} needs a {interface.__name__}, but {key} is {kind.__name__}: choose "
                f"another {key}, or {factor}=none"
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
            check_scores(job, data, split)


def check_scores(job: Job, data: TextData, split: str) -> None:
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


def check_batch_limits(config: DictConfig, data: TextData) -> None:
    """Raise UserError if a batch limit of the trainer leaves no batch, no complete optimiser step,
    or no complete validation interval.
    """
    for name, loader in (("train", data.train_dataloader), ("val", data.val_dataloader)):
        key = _batch_limit(config, name)
        share: Any = config.trainer.get(key)
        if isinstance(share, float) and share < 1 and not int(share * len(loader())):
            raise UserError(
                f"trainer.{key}={share} of {len(loader())} batches is less than one "
                f"batch: set at least {1 / len(loader()):.2g}"
            )
    limit: Any = config.trainer.get(_batch_limit(config, "train"))
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


def _batch_limit(config: DictConfig, name: str) -> str:
    """Return the argument of the trainer that limits the batches of "train" or "val"."""
    return "overfit_batches" if config.trainer.get("overfit_batches") else f"limit_{name}_batches"


def check_lengths(job: Job, model: Model, data: TextData) -> None:
    """Raise UserError if a model cannot decode after a source sequence, cannot be measured by the
    measure of the job, or has fewer positions than the longest sequence needs.

    Args:
        job: the job.
        model: the built model; its weights may be on the meta device.
        data: the prepared data.
    """
    if job.task.inputs is Seq2Seq:
        model.check_decoding()
    if job.config.trainer.get("compile") and any(isinstance(m, RNNBase) for m in model.modules()):
        raise UserError(
            f"trainer.compile={job.config.trainer.compile} cannot compile recurrent layers: set "
            "trainer.compile=false, or choose another model and model/position"
        )
    if job.task.inputs is CausalDocuments:
        model.check_documents()
    if job.measure is not None:
        job.measure.check_model(model)
    if job.config.batch.context is not None:
        for _, kernel in model.attentions():
            kernel.check_context(job.config.batch.context)
    sources, targets = zip(*_needs(job, data), strict=True)
    pairs = zip(sources, targets, strict=True)
    both = [(src[0] + tgt[0], f"{src[1]} and {tgt[1]}" if src[0] else tgt[1]) for src, tgt in pairs]
    longest = model.limits()
    for side, needs in (("source", sources), ("target", targets), ("both", both)):
        limit, (tokens, what) = longest.get(side), max(needs)
        if limit is not None and tokens > limit:
            raise UserError(
                f"{_key_of(job.config, limit)}={limit} is too short for {what}, which may have "
                f"{tokens} tokens: set it to at least {tokens}, or choose another option"
            )


def _key_of(config: DictConfig, limit: int) -> str:
    """Return the config key of the position or attention component whose `max_length` is
    `limit`.
    """
    for factor in ("position", "attention"):
        for place in ("", "encoder.", "decoder.", "cross."):
            key = f"model.{place}{factor}.max_length"
            if OmegaConf.select(config, key) == limit:
                return key
    return "max_length"


def _needs(job: Job, data: TextData) -> Iterator[tuple[Need, Need]]:
    """Yield pairs of requirements: the largest number of tokens for the encoder and the decoder,
    each with the name of the texts that have so many tokens.

    There is a pair for training, for validation and for each test split. If the task generates
    text, there is also a pair for the decoding search on validation and on each test split.
    """
    unit = "targets" if job.task.reads_source else "texts"
    unit = unit if job.config.batch.context is None else "contexts"
    src, tgt = job.task.longest(*data.longest("train"))
    yield (src, "the sources of train"), (tgt, f"the {unit} of train")
    padding = job.config.batch.test_padding
    for split in ("validation", *job.config.test_splits):
        src, tgt = job.task.longest(*data.longest(split, tested=True))
        yield (src, f"the sources of {split}"), (tgt, f"the {unit} of {split}")
    if not job.task.generates:
        return
    yield _searched(data, "validation", job.validation_search, 0, "validation_search")
    for split in job.config.test_splits:
        yield _searched(data, split, job.search, padding, "search")


def _searched(
    data: TextData, split: str, search: Search, padding: int, key: str
) -> tuple[Need, Need]:
    src, tgt = data.longest(split, tested=True)
    added = f" with batch.test_padding={padding}" if padding else ""
    # the limit does not count EOS, but a search makes one more step to generate it
    hypothesis = int(search.max_ratio * (src - 1) + search.max_extra) + 1
    limits = f"{key}.max_ratio={search.max_ratio} and {key}.max_extra={search.max_extra}"
    return (src + padding, f"the sources of {split}{added}"), max(
        (tgt, f"the targets of {split}"), (hypothesis, f"translations of {split} ({limits})")
    )
