"""Which arm a run belongs to: the levels of the factors that its sweep compares."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from ablate.record.label import place, say
from ablate.record.types import Levels

# Keys that do not make another arm, with all that lies below them.
NOT_A_LEVEL = (
    *("seed", "replicate", "experiment", "name", "contest", "n_jobs", "fresh", "logger", "engine"),
    *("paths", "study", "trust", "part", "without", "hydra"),
)


def levels(config: DictConfig, node: Any = None) -> Levels:
    """Return the level of each factor of the study, without a study of each override of a sweep.

    A level is plain data as it lies in a file: of a config group the name of the option, or of
    several; of a node that is given as {key:value} what is given; of any other key its resolved
    value, with all that lies below. A single run without a study has no levels. Cells with the
    same levels have the same configuration, seeds aside (ablate.sweep.apart).

    Args:
        config: the config of a run.
        node: Hydra's node of the cell of a sweep; without it, that of this process.
    """
    swept = node is not None
    if node is None and HydraConfig.initialized():
        node = HydraConfig.get()
        swept = node.mode == RunMode.MULTIRUN
    if config.study is not None:
        return _levels(config, config.study.factors, node)
    return _levels(config, _overridden(node), node) if swept else {}


def _levels(config: DictConfig, factors: Iterable[str], node: Any) -> Levels:
    chosen, given = choices(node), _given(node)
    found = {factor: _level(config, factor, chosen, given) for factor in factors}
    levels: Levels = json.loads(json.dumps(found, default=str))
    return levels


def _level(
    config: DictConfig, factor: str, chosen: Mapping[str, object], given: Mapping[str, object]
) -> object:
    value = OmegaConf.select(config, place(factor))
    if factor in given and OmegaConf.is_dict(value):
        return given[factor]
    if factor in chosen:
        return chosen[factor]
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _given(node: Any) -> Levels:
    """Overrides that are lists or nodes: Hydra's choices leave out the options in a list."""
    words = [] if node is None else [word for word in node.overrides.task if "=" in word]
    given = OverridesParser.create().parse_overrides([w for w in words if "[" in w or "{" in w])
    values = {override.key_or_group: override.value() for override in given}
    return {name: value for name, value in values.items() if isinstance(value, list | dict)}


def arm(config: DictConfig) -> str:
    """The arm as a person says it: "pre_ln no_warmup", "n_heads=8"."""
    return say(levels(config))


def distinct_levels(config: DictConfig, *, tuned: bool) -> Levels:
    """Return the levels that tell a run from others of its name, but for its seed.

    Of a study the levels of its factors, and with `tuned` the nuisance that was chosen for it;
    without a study everything that was overridden.
    """
    if not HydraConfig.initialized():
        return levels(config)
    node = HydraConfig.get()
    keys = _overridden(node)
    if (study := config.study) is not None:
        free = [*study.nuisance, *([study.tune.key] if study.tune else [])]
        keys = [*study.factors, *(key for key in keys if tuned and key in free)]
    return _levels(config, keys, node)


def is_swept() -> bool:
    """Whether this run is one of a sweep's."""
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


def choices(node: Any = None) -> dict[str, str | None]:
    """The level of every config group, where Hydra composed the config; `node` as in `levels`."""
    if node is None and not HydraConfig.initialized():
        return {}
    chosen: dict[str, str | None] = dict((node or HydraConfig.get()).runtime.choices)
    return {group: level for group, level in chosen.items() if not group.startswith("hydra/")}


def _overridden(node: Any) -> list[str]:
    overrides = [text.lstrip("+~") for text in node.overrides.task]
    keys = [text.partition("=")[0] for text in overrides]
    return [key for key in keys if makes_arms(key)]


def makes_arms(key: str) -> bool:
    """Whether runs that differ in a key are of different arms."""
    parts = place(key).split(".")
    return parts[0] not in NOT_A_LEVEL
