"""A job: the config of a run, the objects that the config describes, its data and its model; and
the checks, before the first step, that the components fit together and fit the data.
"""

from collections.abc import Callable, Iterator, Mapping
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
from torch.nn import RNNBase

from ablate.adapt import Adapt
from ablate.data import Corpus
from ablate.data.module import TextData
from ablate.data.scheme import Scheme
from ablate.data.tokenizer import AnyScheme, Tokenizers
from ablate.errors import UserError
from ablate.initial import Initial
from ablate.loss import Loss
from ablate.metric import SplitMetric
from ablate.model import CausalDocuments, Model, Seq2Seq, build
from ablate.optimizer import Factory, Schedule, make_optimizer
from ablate.process import seed_of
from ablate.search import Search
from ablate.task import Task

if TYPE_CHECKING:  # most runs have neither
    from ablate.measure import Measure
    from ablate.probe import Probe

READ = 200  # number of lines of a split that are checked


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
    task: Task, corpus: Corpus, scheme: AnyScheme, batch: Any, *, cache_dir: str, seed: int
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
        scored_targets=task.scored_targets,
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


def check_compatibility(job: Job) -> None:
    """Raise UserError for the first component of a job that does not fit another component; this is
    called before any data is read.
    """
    check_task(job)
    check_sources(job.task, job.corpus)
    check_measures(job)
    check_optimizer(job)
    # raises UserError for a language that it cannot score
    job.task.evaluation(job.corpus.languages[1], for_tests=True)
    check_metrics(job)


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
    """Build the optimiser, and raise UserError if it would divide by 0."""
    # The meta device draws no weights, so the global random state does not change.
    layer = torch.nn.Linear(1, 1, bias=False, device="meta")
    optimizer = make_optimizer(job.optimizer, layer)
    eps = optimizer.defaults.get("eps")
    half = job.config.trainer.precision == "16-true"
    if half and eps and not torch.tensor(eps, dtype=torch.float16):
        raise UserError(f"optimizer.eps={eps:g} is 0 in float16: set optimizer.eps=1e-4")


def check_metrics(job: Job) -> None:
    """Raise UserError for a metric of the user that the task cannot compute."""
    for name in job.metrics:
        if name in job.task.metrics or not job.task.generates:
            raise UserError(
                f"metric.{name} cannot be used with task {type(job.task).__name__}: a task that "
                "makes no translations has none to score, and the names of its own metrics are "
                f"taken ({', '.join(job.task.metrics)}); rename the key, or set metric=none"
            )


def check_inputs(job: Job, data: TextData) -> None:
    """Read every test split as its test will, and check that the batches suffice.

    Raises:
        UserError: a split is missing, its files do not fit one another, a batch is too small for
            its sentences, or the batches of an epoch are fewer than an optimiser step accumulates.
            Every epoch ends with a step, so that all steps would have fewer batches than the config
            says.
    """
    for split in job.config.test_splits:
        if split not in data.counts:
            raise UserError(
                f"test_splits has {split}, which this corpus does not have; allowed is "
                f"{', '.join(data.counts)}"
            )
        if job.probe is None:
            data.check_test(split)
    if job.measure is not None:
        job.measure.check(data)
    trainer, batches = job.config.trainer, len(data.train_dataloader())
    key = "overfit_batches" if trainer.get("overfit_batches") else "limit_train_batches"
    if (limit := trainer.get(key)) is not None:
        batches = min(batches, limit) if isinstance(limit, int) else int(limit * batches)
    if (accumulated := trainer.accumulate_grad_batches) > batches:
        raise UserError(
            f"trainer.accumulate_grad_batches={accumulated} is more than the {batches} batches of "
            f"an epoch, which trainer.{key} and batch.tokens determine: set a smaller number"
        )


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
    longest = model.limits()
    for source, target, texts in _needs(job, data):
        for side, tokens in (("source", source), ("target", target), ("both", source + target)):
            if (limit := longest.get(side)) is not None and tokens > limit:
                raise UserError(
                    f"max_length={limit} is too short for the {side} tokens of {texts}, which may "
                    f"be {tokens}: set model.position.max_length or model.attention.max_length to "
                    f"{tokens}, or choose another option"
                )


def _needs(job: Job, data: TextData) -> Iterator[tuple[int, int, str]]:
    """Yield, for the texts of training, of validation, of each test split and of a decoding search,
    the largest number of tokens for the encoder and for the decoder, and the name of the texts.
    """
    yield *job.task.longest(*data.longest("train")), "train"
    searches = dict.fromkeys(job.config.test_splits, (job.search, job.config.batch.test_padding))
    for split, (search, padding) in {"validation": (job.validation_search, 0), **searches}.items():
        source, target = data.longest(split, tested=True)
        yield *job.task.longest(source, target), split
        if job.task.generates:
            # the limit does not count EOS, but a search makes one more step to generate it
            output = int(search.max_ratio * (source - 1) + search.max_extra) + 1
            limits = f"max_ratio={search.max_ratio} and max_extra={search.max_extra} of the search"
            yield source + padding, max(target, output), f"translations of {split} ({limits})"
