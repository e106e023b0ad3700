"""Which arm a run belongs to: the levels of the factors that its sweep compares."""

from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

# Overrides that do not make another arm.
NOT_A_LEVEL = (
    *("seed", "experiment", "name", "n_jobs", "fresh", "logger", "paths", "study", "trust"),
    "hydra",
)


def levels(config: DictConfig) -> dict[str, Any]:
    """Level of each factor of the study, or without one of each override of a sweep.

    A config group has the name of its choice; where Hydra did not compose the config, the name
    of its class. A single run without a study has no levels.
    """
    if config.study is not None:
        return {factor: _level(config, factor) for factor in config.study.factors}
    if HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN:
        return {key: _level(config, key) for key in _overridden()}
    return {}


def arm(config: DictConfig) -> str:
    """The arm as a person says it: "pre_ln no_warmup", "n_heads=8"."""
    named = levels(config).items()
    return " ".join(_say(config, factor, level) for factor, level in named) or "single"


def choices() -> dict[str, str | None]:
    """The level of every config group, where Hydra composed the config."""
    if not HydraConfig.initialized():
        return {}
    chosen: dict[str, str | None] = dict(HydraConfig.get().runtime.choices)
    return {group: level for group, level in chosen.items() if not group.startswith("hydra/")}


def _overridden() -> list[str]:
    overrides = [text.lstrip("+~") for text in HydraConfig.get().overrides.task]
    keys = [text.partition("=")[0].partition("@")[0] for text in overrides]
    return [key for key in keys if not key.startswith(NOT_A_LEVEL)]


def _level(config: DictConfig, factor: str) -> Any:
    level = choices().get(factor)
    if level is None:
        level = OmegaConf.select(config, _key(factor))
    if isinstance(level, DictConfig):
        level = str(level.get("_target_", "changed")).rpartition(".")[2]
    return "null" if level is None else level


def _say(config: DictConfig, factor: str, level: Any) -> str:
    is_group = isinstance(OmegaConf.select(config, _key(factor)), DictConfig) or factor in choices()
    return str(level) if is_group else f"{factor.rpartition('.')[2]}={level}"


def _key(factor: str) -> str:
    return factor.replace("/", ".")
