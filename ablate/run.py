"""One run, from config to record: seed, data, model, task, fit, test, record."""

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback, EarlyStopping
from pytorch_lightning.loggers.logger import Logger

from ablate.config_check import check
from ablate.data.module import TranslationData
from ablate.model.build import build
from ablate.model.initialise import initialise
from ablate.model.transformer import Transformer
from ablate.seeding import seed_dropout
from ablate.summary import announce, conclude
from ablate.task import Translation
from ablate.tracking.logger import RecordLogger
from ablate.tracking.record import Record
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
    record = Record(config, data.fingerprint)
    if not config.fresh and (earlier := record.result()):
        return conclude(record, earlier, reused=True)
    with record:
        model = make_model(config, data)
        measure = train if config.probe is None else probe
        found = measure(config, data, model, record)
    return conclude(record, found, reused=False)


def hush_lightning() -> None:
    """Keep the log to what a reader can act on; our own table says what runs where."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # Lightning's own use of torch
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")


def prepare_data(config: DictConfig) -> TranslationData:
    """Read the corpus and build its vocabulary and token ids, or find them in the cache."""
    batch: Any = OmegaConf.to_object(config.batch)
    data = TranslationData(
        corpus=instantiate(config.data),
        scheme=instantiate(config.tokenizer),
        batch=batch,
        cache_dir=config.paths.cache,
        seed=config.seed,
    )
    data.prepare()
    return data


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
    return {part: instantiate(config[part]) for part in ("loss", "optimizer", "schedule", "search")}


def probe(
    config: DictConfig, data: TranslationData, model: Transformer, record: Record
) -> dict[str, Any]:
    """Measure without training."""
    with record.phase("probe"):
        values = instantiate(config.probe)(model)
    return record.finish("finished", {f"probe/{name}": value for name, value in values.items()})


def train(
    config: DictConfig, data: TranslationData, model: Transformer, record: Record
) -> dict[str, Any]:
    """Fit, choose the weights, validate and test them, and write the result."""
    task = Translation(model=model, data=data, **make_parts(config))
    weights = WeightKeeper(record.folder, config.checkpoint, config.budget.validate_every)
    trainer = make_trainer(config, record, weights.callbacks())
    announce(config, data, model, record)
    seed_dropout(config.seed, trainer.global_rank)
    with record.phase("training"):
        trainer.fit(task, datamodule=data)
    if task.diverged:
        return record.finish(
            "diverged", {"unigram_nll": data.unigram_nll, "steps": trainer.global_step}
        )
    weights.load_tested(task)
    test(config, trainer, task, record)
    weights.keep(task)
    record.keep_tokenizers(data.tokenizers)
    metrics = {**task.measured, "unigram_nll": data.unigram_nll, "steps": trainer.global_step}
    collapsed = not metrics["val/nll"] < data.unigram_nll
    return record.finish("collapsed" if collapsed else "finished", metrics)


def test(config: DictConfig, trainer: pl.Trainer, task: Translation, record: Record) -> None:
    """Validate and test the chosen weights; keep every translation."""
    with record.phase("validation"):
        trainer.validate(task, datamodule=task.data, verbose=False)
    for split in config.test_splits:
        task.split = split
        with record.phase("test"):
            trainer.test(task, dataloaders=task.data.evaluation_loader(split), verbose=False)
        evaluation = task.evaluation
        record.keep_hypotheses(split, evaluation.hypotheses(), evaluation.statistics())


def make_trainer(config: DictConfig, record: Record, callbacks: list[Callback]) -> pl.Trainer:
    """Lightning's trainer with our record, the chosen logger and early stopping if wanted."""
    loggers: list[Logger] = [RecordLogger(record)]
    if config.logger is not None:
        loggers.append(instantiate(config.logger)(save_dir=str(record.folder)))
    if config.patience is not None:
        callbacks = [*callbacks, EarlyStopping("val/nll", patience=config.patience)]
    progress = config.trainer.enable_progress_bar and sys.stderr.isatty()
    trainer: pl.Trainer = instantiate(config.trainer)(
        logger=loggers,
        callbacks=callbacks,
        default_root_dir=str(Path(record.folder)),
        enable_progress_bar=progress,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    return trainer
