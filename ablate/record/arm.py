"""Which arm a run belongs to: the levels of the factors that its sweep compares."""

import re
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from ablate.record.types import Levels

# Overrides that do not make another arm.
NOT_A_LEVEL = (
    *(
        "seed",
        "replicate",
        "experiment",
        "name",
        "n_jobs",
        "fresh",
        "logger",
        "engine",
        "paths",
        "study",
        "trust",
    ),
    *("without", "hydra"),
)


def levels(config: DictConfig, node: Any = None) -> Levels:
    """Level of each factor of the study, or without one of each override of a sweep.

    A config group has the name of its choice; where Hydra did not compose the config, the name
    of its class. A single run without a study has no levels. `node` is Hydra's, of the cell of
    a sweep that the config belongs to; without it, that of this process.
    """
    swept = node is not None
    if node is None and HydraConfig.initialized():
        node = HydraConfig.get()
        swept = node.mode == RunMode.MULTIRUN
    chosen = choices(node)
    if config.study is not None:
        return {factor: level(config, factor, chosen) for factor in config.study.factors}
    if swept:
        return {key: level(config, key, chosen) for key in _overridden(node)}
    return {}


def arm(config: DictConfig) -> str:
    """The arm as a person says it: "pre_ln no_warmup", "n_heads=8"."""
    return say(levels(config))


def say(named: Levels) -> str:
    """Levels as a person says them: groups by their level alone, keys with their last name.

    A group that stands in several places has the place as well: "encoder.norm=batch_norm".
    """
    return " ".join(_said(named, "=")) or "single"


def told(config: DictConfig, *, tuned: bool, between: str = " ") -> list[str]:
    """What tells a run from others of its name, but its seed: ["learned", "lr 0.005"].

    Of a study the levels of its factors, and with `tuned` the nuisance that was chosen for it;
    without a study everything that was overridden.
    """
    if not HydraConfig.initialized():
        return _said(levels(config), between)
    node = HydraConfig.get()
    keys = _overridden(node)
    if (study := config.study) is not None:
        free = [*study.nuisance, *([study.tune.key] if study.tune else [])]
        keys = [*study.factors, *(key for key in keys if tuned and key in free)]
    chosen = choices(node)
    return _said({key: level(config, key, chosen) for key in keys}, between)


def is_swept() -> bool:
    """Whether this run is one of a sweep's."""
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


def _said(named: dict[str, Any], between: str) -> list[str]:
    return [
        value
        if isinstance(value, str) and "@" not in factor
        else f"{_name(factor)}{between}{_plain(value)}"
        for factor, value in named.items()
    ]


def _name(factor: str) -> str:
    names = re.split("[./]", place(factor))
    return ".".join(names[-2:] if "@" in factor else names[-1:])


def _plain(value: Any) -> str:
    return (
        str(value).lower() if isinstance(value, bool) else "null" if value is None else str(value)
    )


def choices(node: Any = None) -> dict[str, str | None]:
    """The level of every config group, where Hydra composed the config; `node` as in `levels`."""
    if node is None and not HydraConfig.initialized():
        return {}
    chosen: dict[str, str | None] = dict((node or HydraConfig.get()).runtime.choices)
    return {group: level for group, level in chosen.items() if not group.startswith("hydra/")}


def _overridden(node: Any) -> list[str]:
    overrides = [text.lstrip("+~") for text in node.overrides.task]
    keys = [text.partition("=")[0] for text in overrides]
    return [key for key in keys if not key.startswith(NOT_A_LEVEL)]


def level(config: DictConfig, factor: str, chosen: dict[str, Any]) -> Any:
    """Level of one factor; `chosen` holds the choice of every config group."""
    if factor in chosen:
        return chosen[factor]
    value = OmegaConf.select(config, place(factor))
    if isinstance(value, DictConfig):
        return str(value.get("_target_", "changed")).rpartition(".")[2]
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value


def place(factor: str) -> str:
    """Where in the config a factor is: "model.norm" of model/norm, else what follows its @."""
    return factor.rpartition("@")[2].replace("/", ".")
