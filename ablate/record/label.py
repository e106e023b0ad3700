"""Determine the arm of a run from its levels of the compared factors, and write levels and arms as
text, such that different levels have different texts.

Plain words are written unchanged. A text that could be mistaken for another type, such as "1" or
"null", or that contains spaces, is quoted. A list or a node is written like an override.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ablate.config.screen import is_combinations
from ablate.config.study import Levels
from ablate.record.files import digest

# keys (with everything below them) that cannot change a result
WITHOUT_EFFECT = (
    *("name", "contest", "n_jobs", "without", "fresh", "logger", "study", "paths", "trust"),
    "engine",
)
SEEDS = ("seed", "replicate")  # keys that distinguish runs of an arm rather than arms

WORD = re.compile(r"[^\s\"'=,:|\[\]{}]+")
DIGITS = 6  # number of digits of the digest that replaces the cut part


def key(levels: Levels) -> str:
    """Return a text that is equal for two sets of levels exactly if their values and types are
    equal.

    Python considers 1, 1.0 and True equal, but they are three configs.
    """
    return json.dumps(levels, sort_keys=True, default=str)


def run_key(levels: Levels, seed: int) -> str:
    """Return a text that identifies a run of a study by the levels of its arm and by its seed.

    By this text, the same run is recognised in several sweeps of the study.
    """
    return json.dumps([key(levels), seed])


def value_text(value: Any) -> str:
    """Return a value as it is written in an override: 0.5, null, relu, "1", {rate:0.5}."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, str):
        return value if _is_word(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        items = (f"{value_text(name)}:{value_text(item)}" for name, item in value.items())
        return f"{{{','.join(items)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(value_text, value))}]"
    return str(value)


def _is_word(text: str) -> bool:
    """Return whether a text cannot be mistaken for a number or another type."""
    if not WORD.fullmatch(text) or text.lower() in ("null", "true", "false"):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def short_names(factors: Iterable[str]) -> dict[str, str]:
    """Return, by factor, the shortest suffix of its name that distinguishes it from other factors.

    If a config group is placed at another key, as in model/norm@model.encoder.norm, the suffix is
    taken from this key: encoder.norm.
    """
    parts = {factor: re.split("[./]", place(factor)) for factor in factors}
    names = {}
    for factor, words in parts.items():
        others = [parts[other] for other in parts if other != factor]
        sizes = range(1 + ("@" in factor), len(words))
        distinct = (n for n in sizes if not any(other[-n:] == words[-n:] for other in others))
        names[factor] = ".".join(words[-next(distinct, len(words)) :])
    return names


def place(factor: str) -> str:
    """Return the config key of a factor: model.norm for model/norm, or the part after an @."""
    return factor.rpartition("@")[2].replace("/", ".")


def is_below(key: str, nodes: Iterable[str]) -> bool:
    """Return whether a dotted config key is one of the nodes, or below one of them."""
    return f"{key}.".startswith(tuple(f"{node}." for node in nodes))


def cut(text: str, longest: int) -> str:
    """Return a text, cut to at most `longest` characters.

    A cut text ends with a digest of the whole text.
    """
    mark = f"~{digest(text, DIGITS)}"
    return text if len(text) <= longest else text[: longest - len(mark)] + mark


def say(named: Levels) -> str:
    """Return the label of an arm, such as "pre_ln n_heads=8": options by their name, other values
    with their key; "single" without levels.

    Different levels of the same factors have different labels.
    """
    names = short_names(named)
    words = [
        value_text(value)
        if isinstance(value, str) and "@" not in factor
        else f"{names[factor]}={value_text(value)}"
        for factor, value in named.items()
    ]
    return " ".join(words) or "single"


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
    if is_combinations(config):
        from ablate.config.combinations import levels_of  # imports NumPy

        return levels_of(config)
    swept = node is not None or is_swept()
    node = node or hydra_node()
    if config.study is not None:
        return _levels(config, config.study.factors, node)
    return _levels(config, _overridden(node), node) if swept else {}


def distinct_levels(config: DictConfig) -> Levels:
    """Return the levels that distinguish this run from other runs of the experiment, except the
    seed.

    If there is a study, the result has the levels of its factors and the overrides of nuisance
    parameters, such as a learning rate that is being tuned. Without a study, the result has all
    overrides that make arms.
    """
    if (node := hydra_node()) is None:
        return levels(config)
    keys = _overridden(node)
    if (study := config.study) is not None:
        free = [*study.nuisance, *([study.tune.key] if study.tune else [])]
        keys = [*study.factors, *(key for key in keys if key in free)]
    return _levels(config, keys, node)


def _levels(config: DictConfig, factors: Iterable[str], node: Any) -> Levels:
    chosen, given, by_factor = choices(node), _given(node), {}
    for factor in factors:
        value = OmegaConf.select(config, place(factor))
        if factor in given and OmegaConf.is_dict(value):
            value = given[factor]
        elif factor in chosen:
            value = chosen[factor]
        elif OmegaConf.is_config(value):
            value = OmegaConf.to_container(value, resolve=True)
        by_factor[factor] = value
    plain: Levels = json.loads(json.dumps(by_factor, default=str))
    return plain


def _given(node: Any) -> Levels:
    """Return the overridden values of a run that are lists or mappings, by key.

    These overrides are parsed here, because Hydra's record of the chosen options
    (hydra.runtime.choices) does not contain options that were chosen as a list.

    Args:
        node: Hydra's node in the config of the run, or None.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser  # slow to import

    words = [] if node is None else [word for word in node.overrides.task if "=" in word]
    given = OverridesParser.create().parse_overrides([w for w in words if "[" in w or "{" in w])
    values = {override.key_or_group: override.value() for override in given}
    return {name: value for name, value in values.items() if isinstance(value, list | dict)}


def hydra_node() -> Any:
    """Return Hydra's node in the config of this process; None if Hydra has not started a run."""
    from hydra.core.hydra_config import HydraConfig  # slow to import

    return HydraConfig.get() if HydraConfig.initialized() else None


def is_swept() -> bool:
    """Return whether this run is part of a sweep."""
    from hydra.types import RunMode

    node = hydra_node()
    return node is not None and node.mode == RunMode.MULTIRUN


def choices(node: Any = None) -> dict[str, str | None]:
    """Return the chosen option of every config group.

    Args:
        node: Hydra's node in the config of a run; by default, the node of this process.
    """
    node = node or hydra_node()
    chosen: dict[str, str | None] = dict(node.runtime.choices) if node is not None else {}
    return {group: level for group, level in chosen.items() if not group.startswith("hydra/")}


def _overridden(node: Any) -> list[str]:
    keys = [text.lstrip("+~").partition("=")[0] for text in node.overrides.task]
    return [key for key in keys if makes_arms(key)]


def makes_arms(key: str) -> bool:
    """Return whether runs that differ in this config key belong to different arms."""
    return not is_below(place(key), (*WITHOUT_EFFECT, *SEEDS, "experiment", "hydra"))
