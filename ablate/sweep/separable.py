"""Compose the configs of many arms from the changes that they share.

In a study of combinations each arm is a random choice of a few changes, such as an option of
model/norm, and Hydra takes a quarter of a second to compose a config. Here Hydra composes one
config without changes, and one with each chosen option of a config group. The nodes in which both
differ are the change. If the changes of an arm concern different nodes, its config is the config
without changes, with the changed nodes. Values of single keys are set last, by a function of Hydra.
The first and the last arm are also composed by Hydra; if a config differs, Hydra composes all.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf, flag_override

Words = Sequence[str]
Load = Callable[[list[str]], DictConfig]
Path = tuple[str, ...]
# nodes with the overrides of a run, which are set for each run
OF_RUN = {("hydra", "overrides"), ("hydra", "job", "override_dirname")}
CHOICES = ("hydra", "runtime", "choices")
SEVERAL = 2  # arms for each chosen option, from which changes are composed once


def composer(load: Load, is_group: Callable[[str], bool], arms: Sequence[Words]) -> Load:
    """Return a function that composes the config of any of the arms.

    Args:
        load: lets Hydra compose a config with some overrides.
        is_group: returns whether a key is a config group.
        arms: the overrides of every arm.
    """
    if not arms:
        return load
    parsed = OverridesParser.create().parse_overrides([*{word for arm in arms for word in arm}])
    shared = {*arms[0]}.intersection(*arms)
    chosen = {str(x.input_line) for x in parsed if is_group(x.key_or_group)} - shared
    if len(arms) < SEVERAL * len(chosen) or not chosen:
        return load
    separable = _Separable(load, {str(x.input_line): x for x in parsed}, chosen, arms)
    for arm in (arms[0], arms[-1]):
        if any(_differences(load([*arm]), separable.compose(arm))):
            return load
    return separable.compose


class _Separable:
    """The config without changes, and the nodes that each option of a group changes."""

    def __init__(
        self, load: Load, parsed: dict[str, Override], chosen: set[str], arms: Sequence[Words]
    ) -> None:
        self.parsed, self.chosen = parsed, chosen
        self.shared = [word for word in arms[0] if all(word in arm for arm in arms)]
        self.load, self.first = load, load(self.shared)
        self.pickled = pickle.dumps(self.first)
        self.changes: dict[str, dict[Path, Any]] = {}

    def compose(self, arm: Words) -> DictConfig:
        """Return the config of an arm."""
        words = [word for word in arm if word not in self.shared]
        changes = [self._change(word) for word in words if word in self.chosen]
        places = [path for change in changes for path in change]
        if any(_overlap(a, b) for k, a in enumerate(places) for b in places[:k]):
            return self.load([*arm])
        config: DictConfig = pickle.loads(self.pickled)
        with flag_override(config, ["struct", "readonly"], False):
            for (*parents, key), node in (item for x in changes for item in x.items()):
                parent: Any = config
                for name in parents:
                    parent = parent._get_node(name)
                parent[key] = node
        values = [self.parsed[word] for word in words if word not in self.chosen]
        ConfigLoaderImpl._apply_overrides_to_config(values, config)
        return config

    def _change(self, word: str) -> dict[Path, Any]:
        if word not in self.changes:
            other = self.load([*self.shared, word])
            self.changes[word] = dict(_differences(self.first, other))
        return self.changes[word]


def _overlap(first: Path, other: Path) -> bool:
    size = min(len(first), len(other))
    return first[:size] == other[:size]


def _differences(first: Any, other: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the nodes of the other config that differ, with their paths."""
    if path in OF_RUN:
        return
    nodes = (first, other)
    inside = all(isinstance(getattr(node, "_content", None), dict) for node in nodes)
    # an option may choose further options
    more_choices = inside and path == CHOICES and {*first} <= {*other}
    if inside and ([*first] == [*other] or more_choices):
        for key in other:
            yield from _differences(first._content.get(key), other._content[key], (*path, key))
    elif _text(first) != _text(other):
        yield path, other


def _text(node: Any) -> str:
    return OmegaConf.to_yaml(OmegaConf.create({"node": node}))
