"""Shorten a warm-up that is longer than the run, if the warm-up comes from the option of `scale`.

With `budget.steps=150` alone, a warm-up of 190 steps would remain, and the learning rate would
never reach its peak. The warm-up then becomes a fraction of the steps. All schedules read it from
`budget.warmup`, so arms with and without warm-up still share peak and decay. A warm-up that the
command itself sets is rejected if it is longer than the run.
"""

from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf, read_write

from ablate.config.notice import say_once
from ablate.errors import UserError

KEY = "budget.warmup"
SHARE = 4  # number of steps per step of warm-up, as in the scales gpu and smoke
READS = "${budget.warmup}"


def settle(config: DictConfig) -> None:
    """Shorten a warm-up that comes from `scale` and is longer than the run; print a message once.

    Raises:
        UserError: the command sets a warm-up longer than the run, or a `budget.short` shorter than
            the warm-up.
    """
    if config.get("probe") is not None or not OmegaConf.is_dict(config.get("schedule")):
        return
    schedule: Any = OmegaConf.to_container(config.schedule, resolve=False)
    warmup, steps = config.budget.warmup, config.budget.steps
    given = {"schedule.warmup": schedule.get("warmup")}
    if READS in schedule.values():
        given["budget.warmup"] = warmup if "budget.warmup" in overridden(config) else None
    for key, value in given.items():
        if isinstance(value, int) and value > steps:
            raise UserError(
                f"{key}={value} is more than budget.steps={steps}, so the learning rate would "
                f"never reach its peak: set {key}={steps // SHARE}, or schedule=no_warmup"
            )
    if READS in schedule.values() and given["budget.warmup"] is None and 0 < steps < warmup:
        with read_write(config):
            config.budget.warmup = max(1, steps // SHARE)
        say_once(
            f"budget.warmup is {config.budget.warmup} in this run: the {warmup} warm-up steps of "
            f"the scale do not fit into budget.steps={steps}"
        )
    check_short(config)


def check_short(config: DictConfig) -> None:
    """Raise UserError if the learning rate would not reach its peak within `budget.short` steps."""
    short, warmup = config.budget.short, OmegaConf.select(config, "schedule.warmup")
    if short is not None and isinstance(warmup, int) and warmup > short:
        raise UserError(
            f"budget.short={short} is less than the warm-up of {warmup} steps, so that the rate "
            "of the short run would not reach its peak: "
            f"set budget.short={warmup}" + (f", or budget.warmup={short}" if short > 0 else "")
        )


def hydra_node(config: DictConfig) -> Any:
    """Return Hydra's node of a config, or of this process; None without Hydra."""
    node = config.get("hydra")
    return HydraConfig.get() if node is None and HydraConfig.initialized() else node


def overridden(config: DictConfig) -> set[str]:
    """Return the config keys that were set on the command line of a run.

    For a run of a sweep, these include the keys that the sweep sets for this run.
    """
    node = hydra_node(config)
    words = [] if node is None else node.overrides.task
    return {word.lstrip("+~").partition("=")[0] for word in words}
