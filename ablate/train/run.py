"""One run, from config to record: seed, data, model, task, fit, test, record."""

import logging
import warnings
from functools import partial
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments.slurm import SLURMEnvironment
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback, EarlyStopping

from ablate.config.check import check
from ablate.config.construct import building, construct
from ablate.config.parts import check_parts
from ablate.config.settle import settle
from ablate.data.module import TextData
from ablate.data.packed import PackedData
from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.build import build
from ablate.observe.heads import SENTENCES, head_distances
from ablate.probe.base import Probe
from ablate.record.arm import told
from ablate.record.by_name import link
from ablate.record.files import check_name
from ablate.record.training import Record
from ablate.record.types import Outcome, Result, Shorter, Whole
from ablate.record.weights import load_weights
from ablate.seeding import seed_dropout, seed_of
from ablate.task.base import Task
from ablate.train.allocator import keep_memory
from ablate.train.budgets import HandOver, shortened
from ablate.train.evaluate import evaluate
from ablate.train.interruption import Interruption
from ablate.train.lengths import check_lengths
from ablate.train.module import Training
from ablate.train.own import callbacks as own_callbacks
from ablate.train.own import check_own, doubts
from ablate.train.progress import followers
from ablate.train.resume import Saved, StateKeeper, WholeFiles, last_saved
from ablate.train.summary import announce, conclude, introduce
from ablate.train.test_inputs import check_shares, check_tests
from ablate.train.tracking import Tracking, advise_reused, check_loggers
from ablate.train.weights import WeightKeeper

PARTS = ("task", "loss", "optimizer", "schedule", "validation_search", "search")


def run(config: DictConfig, longer: Record | None = None) -> Outcome:
    """Run whatever the record lacks; return its final result.

    A half-finished run goes on where it was interrupted; a trained one is only tested. With
    `budget.short` the run of that length comes first, and its result stands below `short`.

    Args:
        config: of the run.
        longer: record of the run that goes on from this one.

    Raises:
        UserError: the config, the data or their combination cannot work; a file cannot be written.
        SystemExit: the process was asked to end; the next call goes on.
    """
    settle(config)
    check(config)
    for key, name in (("name", config.name), *(("test_splits", s) for s in config.test_splits)):
        check_name(key, name)
    hush_lightning()
    check_parts(config)
    check_own(config)
    check_loggers(config)
    torch.set_num_threads(config.threads)
    keep_memory()
    data = prepare_data(config)
    check_tests(config, data)
    check_shares(config, data)
    record = Record(config, data.fingerprints)
    record.corpus = data.about
    if record.writes:
        introduce(data)
    translates = record.writes and config.probe is None
    for doubt in doubts(config, data) if translates else ():
        print(doubt, flush=True)
    with Interruption() as interruption, record.locked():
        give_name(record, short=longer is not None)
        shorter = shortened(config)
        short: Shorter = {"short": run(shorter, record)} if shorter else {}
        if not config.fresh and (earlier := record.found()):
            advise_reused(record, earlier)
            return conclude(record, earlier, short, reused=True, trained=False)
        model = make_model(config, data)
        check_lengths(config, model, data, make_parts(config))
        measure: Probe | None = construct(config.probe)
        with record:
            start = begin(record, model)
            with Tracking(config, record) as tracking:
                if measure is None:
                    if config.trainer.num_nodes > 1:
                        print("waiting for the processes on the other machines", flush=True)
                        interruption.release()
                    states = make_states(record, interruption, longer)
                    found = train_and_test(config, data, model, tracking, start, states)
                else:
                    found = probe(measure, model, record)
    return conclude(record, found, short, reused=False, trained=start.trained is None)


class Start(NamedTuple):
    """What a run finds of itself: its training, done before, or the state that it was left in."""

    trained: Result | None
    saved: Saved | None


def begin(record: Record, model: Model) -> Start:
    """Open the record; `model` has the trained weights if there are any."""
    fresh = record.config.fresh
    trained = None if fresh else trained_before(record, model)
    saved = None if fresh or trained else last_saved(record)
    record.resumed = bool(trained or saved)
    if trained:
        record.current = record.evaluation
        record.drop_checkpoints()
    elif saved:
        record.resume(saved.metrics_bytes, saved.wall_seconds)
    else:
        record.begin()
    return Start(trained, saved)


def trained_before(record: Record, model: Model) -> Result | None:
    """Load the weights of an earlier training and return its result; None if there are none."""
    trained = record.result()
    if trained is None:
        return None
    try:
        load_weights(model, record.weights, trained["weights"])
    except UserError as error:
        if record.writes:
            print(f"{error}: the run trains anew", flush=True)
        return None
    record.weights_digest = trained["weights"]
    return trained


def give_name(record: Record, *, short: bool) -> None:
    """Link the record's folder under a readable name; that of a run that is tuned says by what."""
    config = record.config
    replicate = f"{config.replicate}." if config.replicate else ""
    words = told(config, tuned=not config.test_splits, between="=")
    if record.writes:
        name = [*words, *(["short"] if short else []), f"{replicate}{config.seed}"]
        link(record.results, record.folder, config.name, name)


def hush_lightning() -> None:
    """Keep the log to what a reader can act on; our own table says what runs where."""
    for library in ("pytorch_lightning", "lightning_fabric"):
        logging.getLogger(library).setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # Lightning's own use of torch
    for advice in (
        "does not have many workers",
        "smaller than the logging interval",
        "`srun` command is available",  # workers of a sweep are no tasks of one job
        "when logging on epoch level in distributed setting",  # all processes hold the same scores
    ):
        warnings.filterwarnings("ignore", message=f".*{advice}.*")


def prepare_data(config: DictConfig) -> TextData:
    """Read the corpus and build its vocabulary and token ids, or find them in the cache."""
    batch: Any = OmegaConf.to_object(config.batch)
    task: Task = construct(config.task)
    kind = TextData if batch.context is None else partial(PackedData, pack=task.pack)
    data: TextData = kind(
        corpus=construct(config.data),
        scheme=construct(config.tokenizer),
        collate=task.batch,
        batch=batch,
        cache_dir=config.paths.cache,
        seed=seed_of(config),
    )
    data.prepare()
    task.begin(data.tokenizers)
    return data


def make_model(config: DictConfig, data: TextData) -> Model:
    """Build the model for the vocabularies of the data, with the initial weights of the seed."""
    model, seed = build_model(config, data), seed_of(config)
    construct(config.initial)(model, data.tokenizers, seed)
    construct(config.adapt)(model, seed)
    return model


def build_model(config: DictConfig, data: TextData) -> Model:
    """Build the model for the vocabularies of the data; under the meta device it has no values."""
    return build(
        config.model,
        src_vocab=data.src_vocab,
        tgt_vocab=data.tgt_vocab,
        joint_vocab=data.joint_vocab,
    )


def make_parts(config: DictConfig) -> dict[str, Any]:
    """Loss, optimiser, schedule and searches, as the config names them."""
    return {part: construct(config[part]) for part in PARTS}


def parameters(model: Model) -> int:
    """Number of trained parameters; shared ones count once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def probe(measure: Probe, model: Model, record: Record) -> Whole:
    """Measure without training."""
    with record.phase("probe"):
        values = measure(model)
    metrics = {f"probe/{name}": value for name, value in values.items()}
    found = record.finish("finished", metrics | {"parameters": parameters(model)})
    return record.whole(found, None)


def train_and_test(
    config: DictConfig,
    data: TextData,
    model: Model,
    tracking: Tracking,
    start: Start,
    states: list[Callback],
) -> Whole:
    """Train, unless that was done before, and test."""
    record = tracking.record
    task = Training(model=model, data=data, **make_parts(config))
    checkpoint: Any = OmegaConf.to_object(config.checkpoint)
    weights = WeightKeeper(record.checkpoints, checkpoint, writes=record.writes)
    trainer = make_trainer(config, tracking, [weights, *states])
    trained = start.trained or train(task, trainer, weights, tracking, start.saved)
    tested = evaluate(config, trainer, task, record) if record.evaluates(trained) else None
    return record.whole(trained, tested)


def make_states(
    record: Record, interruption: Interruption, longer: Record | None
) -> list[Callback]:
    """What saves the states of a run: for itself, and for a longer one that goes on from it."""
    own = StateKeeper(record, record.config.checkpoint.save_every, interruption)
    return [own, HandOver(record, longer)] if longer else [own]


def train(
    task: Training,
    trainer: pl.Trainer,
    weights: WeightKeeper,
    tracking: Tracking,
    saved: Saved | None,
) -> Result:
    """Fit, choose the weights, validate and keep them, and write the result."""
    record, data, model = tracking.record, task.data, task.model
    announce(record.config, data, model, record, step=saved.step if saved else 0)
    seed_dropout(seed_of(record.config), trainer.global_rank)
    with record.phase("training"):
        trainer.fit(task, datamodule=data, ckpt_path=saved.path if saved else None)
    known = {
        **data.unigram(*task.task.metrics),
        "parameters": parameters(model),
        "steps": trainer.global_step,
        **data.levels,
        **task.gradients.metrics(),
        **task.sublayers.metrics(),
    }
    if task.diverged:
        return record.finish("diverged", known)
    trainer.strategy.barrier()  # the first process has written what all load
    try:
        weights.load_tested(task, trainer.global_step)
    except UserError:
        record.drop_checkpoints()  # the next call must train them again
        raise
    with record.phase("validation"):
        trainer.validate(task, datamodule=data, verbose=False)
        known |= head_distances(model, data.first_lines("validation", SENTENCES), task.device)
    with record.phase("pictures"):
        tracking.show(task)
    record.keep_weights(model.state_dict())
    record.keep_tokenizers(data.tokenizers.save)
    metrics = {**task.measured, **known}
    collapsed = not metrics["val/nll"] < data.unigram_nll
    return record.finish("collapsed" if collapsed else "finished", metrics)


def make_trainer(config: DictConfig, tracking: Tracking, callbacks: list[Callback]) -> pl.Trainer:
    """Lightning's trainer with the run's loggers, and early stopping if wanted.

    What it is given here, `trainer` cannot hold (`ablate.config.check`).
    """
    callbacks = [*callbacks, *tracking.callbacks(), *own_callbacks(config)]
    if config.patience is not None:
        callbacks = [*callbacks, EarlyStopping("val/nll", patience=config.patience)]
    shown = config.trainer.enable_progress_bar and tracking.record.writes
    callbacks = [*callbacks, *followers(shown=shown)]
    # ablate itself goes on with interrupted runs; SLURM's signal would have Lightning do it too
    slurm = [SLURMEnvironment(auto_requeue=False)] if SLURMEnvironment.detect() else []
    with building("trainer", config.trainer):
        trainer: pl.Trainer = construct(config.trainer)(
            logger=tracking.loggers,
            callbacks=callbacks,
            plugins=[WholeFiles(), *slurm],
            default_root_dir=str(tracking.record.folder),
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
        )
    tracking.count_by(lambda: trainer.global_step)
    return trainer
