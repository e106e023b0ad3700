"""Determine which arm of a sweep a run belongs to, from its levels of the compared factors, and
store Hydra's choices and overrides of a run, so that the run's name can be derived later.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from ablate.config.screen import is_combinations
from ablate.config.study import Levels
from ablate.record.label import place, say

# Keys (with everything below them) that do not distinguish arms.
NOT_A_LEVEL = (
    *("seed", "replicate", "experiment", "name", "contest", "n_jobs", "fresh", "logger", "engine"),
    *("paths", "study", "trust", "without", "hydra"),
)


def levels(config: DictConfig, node: Any = None) -> Levels:
    """Return the level of each factor of the study; without a study, of each override of a sweep.

    A level is plain data. For a config group, the level is the name of the chosen option (or a list
    of names). For a node given as {key:value}, the level is this node. For any other key, the level
    is the resolved value, including everything below the key. A single run without a study has no
    levels. Runs with equal levels have equal configs except for the seed (ablate.sweep.cell).

    Args:
        config: the config of a run.
        node: Hydra's node in the config of a run in a sweep; by default, the node of this process.
    """
    swept = node is not None
    if node is None and HydraConfig.initialized():
        node = HydraConfig.get()
        swept = node.mode == RunMode.MULTIRUN
    if is_combinations(config):
        from ablate.config.combinations import levels_of  # imports NumPy

        return levels_of(config)
    if config.study is not None:
        return _levels(config, config.study.factors, node)
    return _levels(config, _overridden(node), node) if swept else {}


def _levels(config: DictConfig, factors: Iterable[str], node: Any) -> Levels:
    chosen, given = choices(node), _given(node)
    by_factor = {factor: _level(config, factor, chosen, given) for factor in factors}
    levels: Levels = json.loads(json.dumps(by_factor, default=str))
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
    """Return the overridden values of a run that are lists or mappings, by key.

    These overrides are parsed here, because Hydra's record of the chosen options
    (hydra.runtime.choices) does not contain options that were chosen as a list.

    Args:
        node: Hydra's node in the config of the run, or None.
    """
    words = [] if node is None else [word for word in node.overrides.task if "=" in word]
    given = OverridesParser.create().parse_overrides([w for w in words if "[" in w or "{" in w])
    values = {override.key_or_group: override.value() for override in given}
    return {name: value for name, value in values.items() if isinstance(value, list | dict)}


def arm(config: DictConfig) -> str:
    """Return the label of a run's arm, such as "pre_ln no_warmup" or "n_heads=8"."""
    return say(levels(config))


def distinct_levels(config: DictConfig) -> Levels:
    """Return the levels that distinguish this run from other runs of the experiment, except the
    seed.

    If there is a study, the result has the levels of its factors and the overrides of nuisance
    parameters, such as a learning rate that is being tuned. Without a study, the result has all
    overrides that make arms.
    """
    if not HydraConfig.initialized():
        return levels(config)
    node = HydraConfig.get()
    keys = _overridden(node)
    if (study := config.study) is not None:
        free = [*study.nuisance, *([study.tune.key] if study.tune else [])]
        keys = [*study.factors, *(key for key in keys if key in free)]
    return _levels(config, keys, node)


def is_swept() -> bool:
    """Return whether this run is part of a sweep."""
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


def choices(node: Any = None) -> dict[str, str | None]:
    """Return the chosen option of every config group.

    Args:
        node: Hydra's node in the config of a run; by default, the node of this process.
    """
    if node is None and not HydraConfig.initialized():
        return {}
    chosen: dict[str, str | None] = dict((node or HydraConfig.get()).runtime.choices)
    return {group: level for group, level in chosen.items() if not group.startswith("hydra/")}


def _overridden(node: Any) -> list[str]:
    overrides = [text.lstrip("+~") for text in node.overrides.task]
    keys = [text.partition("=")[0] for text in overrides]
    return [key for key in keys if makes_arms(key)]


def makes_arms(key: str) -> bool:
    """Return whether runs that differ in this config key belong to different arms."""
    parts = place(key).split(".")
    return parts[0] not in NOT_A_LEVEL
