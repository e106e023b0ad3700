"""One run, from config to record: seed, data, model, task, fit, test, record."""

import logging
import sys
import warnings
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback, EarlyStopping

from ablate.config_check import check
from ablate.construct import construct
from ablate.data.module import TranslationData
from ablate.errors import UserError
from ablate.model.build import build
from ablate.model.initialise import initialise
from ablate.model.transformer import Transformer
from ablate.progress_bar import StepBar
from ablate.seeding import seed_dropout
from ablate.summary import announce, conclude
from ablate.task import Translation
from ablate.tracking.record import Record
from ablate.tracking.tracking import Tracking
from ablate.weights import WeightKeeper


def run(config: DictConfig) -> dict[str, Any]:
    """Run one cell, or reuse the record of the same run, and return what result.json says.

    Raises:
        UserError: the config, the data or their combination cannot work.
    """
    check(config)
    hush_lightning()
    torch.set_num_threads(config.threads)
    data = prepare_data(config)
    check_splits(list(config.test_splits), data)
    record = Record(config, data.fingerprint)
    if not config.fresh and (earlier := record.result()):
        return conclude(record, earlier, reused=True)
    with record, Tracking(config, record) as tracking:
        model = make_model(config, data)
        measure = train if config.probe is None else probe
        found = measure(config, data, model, tracking)
    return conclude(record, found, reused=False)


def hush_lightning() -> None:
    """Keep the log to what a reader can act on; our own table says what runs where."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # Lightning's own use of torch
    for advice in ("does not have many workers", "smaller than the logging interval"):
        warnings.filterwarnings("ignore", message=f".*{advice}.*")


def prepare_data(config: DictConfig) -> TranslationData:
    """Read the corpus and build its vocabulary and token ids, or find them in the cache."""
    batch: Any = OmegaConf.to_object(config.batch)
    data = TranslationData(
        corpus=construct(config.data),
        scheme=construct(config.tokenizer),
        batch=batch,
        cache_dir=config.paths.cache,
        seed=config.seed,
    )
    data.prepare()
    return data


def check_splits(splits: list[str], data: TranslationData) -> None:
    """Raise UserError for a split that the corpus does not have."""
    for split in splits:
        if split not in data.counts:
            raise UserError(
                f"test_splits has {split}, which this corpus does not have; "
                f"allowed is {', '.join(data.counts)}"
            )


def make_model(config: DictConfig, data: TranslationData) -> Transformer:
    """Build the model for the vocabularies of the data, with the initial weights of the seed."""
    model = build_model(config, data)
    initialise(model, config.seed)
    return model


def build_model(config: DictConfig, data: TranslationData) -> Transformer:
    """Build the model for the vocabularies of the data; under the meta device it has no values."""
    return build(
        config.model,
        src_vocab=data.src_vocab,
        tgt_vocab=data.tgt_vocab,
        joint_vocab=data.joint_vocab,
    )


def make_parts(config: DictConfig) -> dict[str, Any]:
    """Loss, optimiser, schedule and search, as the config names them."""
    return {part: construct(config[part]) for part in ("loss", "optimizer", "schedule", "search")}


def parameters(model: Transformer) -> int:
    """Number of trained parameters; shared ones count once."""
    return sum(p.numel() for p in model.parameters())


def probe(
    config: DictConfig, data: TranslationData, model: Transformer, tracking: Tracking
) -> dict[str, Any]:
    """Measure without training."""
    record = tracking.record
    with record.phase("probe"):
        values = construct(config.probe)(model)
    metrics = {f"probe/{name}": value for name, value in values.items()}
    return record.finish("finished", metrics | {"parameters": parameters(model)})


def train(
    config: DictConfig, data: TranslationData, model: Transformer, tracking: Tracking
) -> dict[str, Any]:
    """Fit, choose the weights, validate and test them, and write the result."""
    record = tracking.record
    known = {"unigram_nll": data.unigram_nll, "parameters": parameters(model)}
    task = Translation(model=model, data=data, **make_parts(config))
    checkpoint: Any = OmegaConf.to_object(config.checkpoint)
    weights = WeightKeeper(record.folder, checkpoint, config.budget.validate_every)
    trainer = make_trainer(config, tracking, weights.callbacks())
    announce(config, data, model, record)
    seed_dropout(config.seed, trainer.global_rank)
    with record.phase("training"):
        trainer.fit(task, datamodule=data)
    if task.diverged:
        return record.finish("diverged", known | {"steps": trainer.global_step})
    weights.load_tested(task)
    test(config, trainer, task, record)
    with record.phase("pictures"):
        tracking.show(task)
    weights.keep(task)
    record.keep_tokenizers(data.tokenizers)
    metrics = {**task.measured, **known, "steps": trainer.global_step}
    collapsed = not metrics["val/nll"] < data.unigram_nll
    return record.finish("collapsed" if collapsed else "finished", metrics)


def test(config: DictConfig, trainer: pl.Trainer, task: Translation, record: Record) -> None:
    """Validate and test the chosen weights; keep every translation."""
    with record.phase("validation"):
        trainer.validate(task, datamodule=task.data, verbose=False)
    record.signatures = task.evaluation.signatures()
    for split in config.test_splits:
        task.split = split
        with record.phase("test"):
            trainer.test(task, dataloaders=task.data.evaluation_loader(split), verbose=False)
        evaluation = task.evaluation
        record.keep_hypotheses(split, evaluation.hypotheses(), evaluation.statistics())


def make_trainer(config: DictConfig, tracking: Tracking, callbacks: list[Callback]) -> pl.Trainer:
    """Lightning's trainer with the run's loggers, and early stopping if wanted."""
    callbacks = [*callbacks, *tracking.callbacks()]
    if config.patience is not None:
        callbacks = [*callbacks, EarlyStopping("val/nll", patience=config.patience)]
    watched = tracking.record.writes and sys.stderr.isatty()
    if config.trainer.enable_progress_bar and watched:
        callbacks = [*callbacks, StepBar()]
    trainer: pl.Trainer = construct(config.trainer)(
        logger=tracking.loggers,
        callbacks=callbacks,
        default_root_dir=str(tracking.record.folder),
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    tracking.own.steps_done = lambda: trainer.global_step
    return trainer
