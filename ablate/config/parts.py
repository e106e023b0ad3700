"""Whether the parts of a run can be built, found out before its data is prepared."""

from typing import Any

import torch
from omegaconf import DictConfig

from ablate.config.construct import building, construct

SILENT = {
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


PARTS = (
    *("data", "task", "tokenizer", "initial", "adapt"),
    *("loss", "schedule", "validation_search", "search", "probe"),
)


def check_parts(config: DictConfig) -> None:
    """Build, and throw away, what a run would build only once its folder exists.

    Raises:
        UserError: a part refuses its settings, or needs a device that this machine lacks.
    """
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
    ):
        construct(config[part])
    optimizer: Any = construct(config.optimizer)
    with building("optimizer", config.optimizer):
        optimizer([torch.nn.Parameter(torch.zeros(1, 1))])
    trainer: Any = construct(config.trainer)
    with building("trainer", config.trainer):
        trainer(**SILENT)
