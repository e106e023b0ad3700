"""Turn a config into a job: set values that depend on others, construct all components, and check
that the components fit together.
"""

import inspect
import logging
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import pytorch_lightning as pl
import torch
from hydra.utils import get_class
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.plugins.environments.slurm import SLURMEnvironment
from omegaconf import DictConfig, OmegaConf, read_write
from pytorch_lightning.callbacks import Callback, RichModelSummary, StochasticWeightAveraging
from pytorch_lightning.profilers import profiler
from pytorch_lightning.strategies.launchers import _MultiProcessingLauncher

from ablate.config.check import check, is_component
from ablate.config.construct import construct
from ablate.config.settle import settle
from ablate.errors import UserError
from ablate.record.identity import read_source
from ablate.train.checkpoints import AtomicCheckpointIO
from ablate.train.job import Job, check_compatibility
from ablate.train.tracking import Loggers, Tracking

# config nodes of the components that a job has under the same name
COMPONENTS = (
    *("task", "initial", "adapt", "loss", "optimizer", "schedule", "validation_search"),
    *("search", "trainer", "probe", "measure"),
)


def resolve(config: DictConfig) -> Job:
    """Return the job of a config.

    The precision and the warm-up that will be used are set in `config` itself.

    Raises:
        UserError: a setting, a component or a combination of components cannot work.
    """
    settle(config)
    read_source(config)
    check(config)
    shorter = shorten(config)
    hush_lightning()
    job = Job(
        config=config,
        model=get_class(config.model["_target_"]),
        corpus=construct(config.data),
        scheme=construct(config.tokenizer),
        **{name: construct(config[name]) for name in COMPONENTS},
        metrics={str(name): construct(node) for name, node in config.metric.items()},
        callbacks=construct_callbacks(config),
        loggers=construct_loggers(config.logger),
    )
    check_compatibility(job)
    check_trainer(job)
    return replace(job, short=resolve(shorter)) if shorter else job


def construct_callbacks(config: DictConfig) -> Mapping[str, Callback]:
    """Return the callbacks of the config node `callbacks`, by their keys in this node.

    Raises:
        UserError: a callback rejects its arguments, or cannot be resumed.
    """
    callbacks = {str(key): construct(node) for key, node in config.callbacks.items()}
    for key, callback in callbacks.items():
        if isinstance(callback, StochasticWeightAveraging):
            raise UserError(
                f"callbacks.{key}: Lightning cannot resume StochasticWeightAveraging within an "
                "epoch, and replaces the weights of a run that ends before its first average; "
                "choose pytorch_lightning.callbacks.EMAWeightAveraging"
            )
    return callbacks


def construct_loggers(node: DictConfig | None) -> Loggers:
    """Return a function that makes a logger, for each logger in the config node `logger`, by key.

    The settings of W&B are directly in this node, and every other logger has a node below it. So
    `logger=[wandb,csv]` means both loggers. A node without `_partial_: true` is read in the same
    way, because a logger is made only when the folder of its run exists.
    """
    if node is None:
        return {}
    names = [str(name) for name in node]
    beside = [name for name in names if is_component(node, name)]
    alone = OmegaConf.masked_copy(node, [name for name in names if name not in beside])
    nodes = {"logger": alone} if "_target_" in alone else {}
    nodes |= {f"logger.{name}": node[name] for name in beside}
    return {key: construct(logger, _partial_=True) for key, logger in nodes.items()}


def shorten(config: DictConfig) -> DictConfig | None:
    """Return the config of the run with `budget.short` steps; None if that budget is not set, or if
    the run only applies a probe to an untrained model.

    Raises:
        UserError: `budget.short` is not smaller than `budget.steps`.
    """
    short, steps = config.budget.short, config.budget.steps
    if short is None or config.probe is not None:
        return None
    shorter = config.copy()
    with read_write(shorter):
        shorter.budget.steps, shorter.budget.short = short, None
    if short >= steps or shorter.trainer.max_steps != short:
        raise UserError(
            f"budget.short={short} with budget.steps={steps} and trainer.max_steps="
            f"{config.trainer.max_steps}: budget.short must be below budget.steps, and the trainer "
            "must take its steps from budget.steps"
        )
    return shorter


NODES = {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK"}
Compile = Literal[False, "default", "reduce-overhead"]
SIGNATURE = inspect.signature(pl.Trainer)
COMPILE = inspect.Parameter(
    "compile", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Compile
)


class Trainer(pl.Trainer):
    """Lightning's trainer with a further argument, which `Training` reads from the config.

    Args:
        compile: how torch.compile compiles training: False (not at all) | default |
            reduce-overhead (with CUDA graphs; untested).
        **arguments: all arguments of Lightning's trainer.
    """

    __signature__ = SIGNATURE.replace(parameters=[*SIGNATURE.parameters.values(), COMPILE])

    def __init__(self, *, compile: Compile = False, **arguments: Any) -> None:
        """Create Lightning's trainer, without the argument `compile`."""
        super().__init__(**arguments)


def make_trainer(job: Job, tracking: Tracking, callbacks: list[Callback]) -> pl.Trainer:
    """Return the trainer with the run's loggers and callbacks.

    The arguments that are set here cannot be set by `trainer` in a config (`ablate.config.check`).
    """
    config, shown = job.config, bool(job.config.trainer.enable_progress_bar)
    summary = [RichModelSummary(max_depth=2)] if shown else []
    # ablate resumes interrupted runs itself; on SLURM's signal Lightning would requeue them too
    slurm = [SLURMEnvironment(auto_requeue=False)] if SLURMEnvironment.detect() else []
    trainer = job.trainer(
        logger=tracking.loggers,
        callbacks=[*callbacks, tracking, *job.callbacks.values(), *summary],
        plugins=[AtomicCheckpointIO(), *slurm],
        default_root_dir=str(tracking.record.folder),
        enable_progress_bar=shown and sys.stdout.isatty(),
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    limit_memory(trainer.strategy.root_device, config.engine.get("per_gpu", 1))
    return trainer


def limit_memory(device: torch.device, per_gpu: int) -> None:
    """Let this process use an equal part of the memory of its GPU if `per_gpu` runs share it."""
    if device.type == "cuda" and per_gpu > 1:
        torch.cuda.set_per_process_memory_fraction(1 / per_gpu, device)


def check_trainer(job: Job) -> None:
    """Build the trainer, for which Lightning raises its own errors.

    Raises:
        UserError: Lightning would silently ignore a setting; its strategy trains in processes that
            it starts and ends itself, with whose end the results would be lost; or a run on several
            machines has no launcher that connects its processes, so that the first would wait for
            the others for half an hour, Lightning's limit.
    """
    trainer = job.trainer(
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    settings, strategy = job.config.trainer, trainer.strategy
    if isinstance(strategy.launcher, _MultiProcessingLauncher):
        raise UserError(
            "trainer.strategy: this strategy trains in forked or spawned processes, whose results "
            "would be lost: set trainer.strategy=ddp"
        )
    asked = settings.get("devices")
    if isinstance(asked, int) and asked != trainer.num_devices:
        raise UserError(
            f"trainer.devices={asked} with trainer.strategy={settings.get('strategy')}: the "
            f"strategy would use {trainer.num_devices}; set trainer.strategy=ddp"
        )
    algorithm = settings.get("gradient_clip_algorithm")
    if algorithm and not trainer.gradient_clip_val:
        raise UserError(
            f"trainer.gradient_clip_algorithm={algorithm} clips nothing without "
            "trainer.gradient_clip_val: set both, or neither"
        )
    alone = isinstance(getattr(strategy, "cluster_environment", None), LightningEnvironment)
    if trainer.num_nodes > 1 and alone and not os.environ.keys() >= NODES:
        raise UserError(
            f"trainer.num_nodes={trainer.num_nodes}: nothing starts this run on the other "
            "machines; start it on each with srun, torchrun or the variables "
            f"{', '.join(sorted(NODES))}"
        )


def hush_lightning() -> None:
    """Silence messages of Lightning that need no action; the table at the start of a run replaces
    them.
    """
    for library in ("pytorch_lightning", "lightning_fabric"):
        logging.getLogger(library).setLevel(logging.WARNING)
    logging.getLogger(profiler.__name__).setLevel(logging.INFO)  # prints the table of a profiler
    for advice in (
        "LeafSpec",  # Lightning's own use of torch
        "does not have many workers",
        "not supported by the model summary",
        "smaller than the logging interval",
        "You requested to overfit",  # the loaders already repeat their batches
        "`srun` command is available",  # workers of a sweep are separate processes
        "when logging on epoch level in distributed setting",  # all processes hold the same scores
    ):
        warnings.filterwarnings("ignore", message=f".*{advice}.*")
