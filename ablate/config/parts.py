"""Whether the parts of a run can be built, found out before its data is prepared."""

import os
from typing import Any

import pytorch_lightning as pl
import torch
from hydra.utils import get_class
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from omegaconf import DictConfig

from ablate.config.construct import building, construct
from ablate.errors import UserError

NODES = {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK"}
SILENT = {
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


def check_parts(config: DictConfig) -> None:
    """Build, and throw away, what a run would build only once its folder exists.

    Raises:
        UserError: a part refuses its settings, or needs a device that this machine lacks.
    """
    check_task(config)
    for part in (
        "data",
        "task",
        "tokenizer",
        "initial",
        "adapt",
        "loss",
        "schedule",
        "validation_search",
        "search",
        "probe",
        "measure",
    ):
        construct(config[part])
    optimizer: Any = construct(config.optimizer)
    with building("optimizer", config.optimizer):
        built = optimizer([torch.nn.Parameter(torch.zeros(1, 1))])
    check_eps(str(config.trainer.precision), built.defaults.get("eps"))
    check_sharding(config)
    trainer: Any = construct(config.trainer)
    with building("trainer", config.trainer):
        built = trainer(**SILENT)
    check_nodes(built)


def check_nodes(trainer: pl.Trainer) -> None:
    """Raise UserError where nothing tells the processes of several machines of each other.

    The first one would wait for the others until Lightning's limit of half an hour.
    """
    environment = getattr(trainer.strategy, "cluster_environment", None)
    alone = isinstance(environment, LightningEnvironment)
    if trainer.num_nodes > 1 and alone and not os.environ.keys() >= NODES:
        raise UserError(
            f"trainer.num_nodes={trainer.num_nodes}: nothing starts this run on the others; start "
            f"it on each with srun, torchrun or the variables {', '.join(sorted(NODES))}"
        )


def check_eps(precision: str, eps: float | None) -> None:
    """Raise UserError where the optimiser's eps, which it divides by, is 0 in its precision."""
    if precision == "16-true" and eps and not torch.tensor(eps, dtype=torch.float16):
        raise UserError(
            f"optimizer.eps={eps:g} is 0 in the float16 of trainer.precision=16-true, so that the "
            "optimiser would divide by 0: say optimizer.eps=1e-4, or trainer.precision=bf16-true"
        )


def check_sharding(config: DictConfig) -> None:
    """Raise UserError where a model is to be sharded without GPUs: torch's FSDP needs them."""
    strategy = config.trainer.get("strategy")
    if str(strategy).startswith("fsdp") and not torch.cuda.is_available():
        raise UserError(
            f"trainer.strategy={strategy}: a model is sharded among GPUs, and there are none; "
            "say trainer.strategy=ddp, which several processes of a processor can do"
        )


def check_task(config: DictConfig) -> None:
    """Raise UserError for a task that does not fit the model or the loss, or a probe likewise."""
    model: Any = get_class(config.model["_target_"])
    task, probe = construct(config.task), construct(config.probe)
    inputs = task.inputs
    if inputs not in model.takes:
        takes = " or ".join(sorted(kind.__name__ for kind in model.takes))
        raise UserError(
            f"task gives {inputs.__name__} inputs, and model {model.__name__} takes {takes}: "
            "choose another model or another task"
        )
    if config.batch.context is not None and not task.packs:
        raise UserError(
            f"batch.context is {config.batch.context}, but task {type(task).__name__} reads whole "
            "texts: say batch.context=null, or choose task=language_model"
        )
    if construct(config.loss).counts_padding and not task.scores_all:
        raise UserError(
            f"loss counts padding, and the targets of task {type(task).__name__} are PAD wherever "
            "nothing is to be predicted: choose another loss"
        )
    if probe is not None and not issubclass(model, probe.needs):
        raise UserError(
            f"probe measures a {probe.needs.__name__}, and model is {model.__name__}: "
            "choose another model, or probe=none"
        )
    check_measure(config, model)


def check_measure(config: DictConfig, model: type) -> None:
    """Raise UserError for a measure that cannot look into the model, or knows not its corpus."""
    measure = construct(config.measure)
    if measure is None:
        return
    for key, kind, wanted in (
        ("model", model, measure.needs),
        ("data", get_class(config.data["_target_"]), measure.knows),
    ):
        if not issubclass(kind, wanted):
            raise UserError(
                f"measure is for a {wanted.__name__}, and {key} is {kind.__name__}: choose another "
                f"{key}, or measure=none"
            )
