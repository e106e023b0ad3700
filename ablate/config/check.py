"""Check a composed config beyond Hydra's schema.

Hydra's schema detects unknown keys of the typed part. It accepts keys added with `+`, misspelt
groups added with `+`, removed groups (`~data`), and wrong arguments of a component, which would
fail only when the component is called. `check` detects all of them before any work. It also detects
a class of another kind, an object in place of a factory (`_partial_: true`) and the reverse.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import yaml
from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf

from ablate.config import PACKAGE, groups
from ablate.config.construct import parameters
from ablate.config.limits import check_value
from ablate.errors import UserError, first_line, name_hint, suggestion

# classes of the nodes of the config; imports would be circular, so these are names
INTERFACES = {
    "data": "ablate.data.Corpus",
    "tokenizer": "ablate.data.scheme.Scheme",
    "task": "ablate.task.Task",
    "model": "ablate.model.Model",
    "initial": "ablate.initial.Initial",
    "adapt": "ablate.adapt.Adapt",
    "loss": "ablate.loss.Loss",
    "optimizer": "torch.optim.Optimizer",
    "schedule": "ablate.optimizer.Schedule",
    "validation_search": "ablate.search.Search",
    "search": "ablate.search.Search",
    "trainer": "pytorch_lightning.Trainer",
    "engine": "ablate.engine.Engine",
    "probe": "ablate.probe.Probe",
    "measure": "ablate.measure.Measure",
}
FACTORIES = ("optimizer", "trainer")  # nodes that describe a factory of objects of their class
# of each named node within a node of the config, such as callbacks.first and callbacks.second
NAMED = {"callbacks": "pytorch_lightning.callbacks.Callback", "metric": "ablate.metric.SplitMetric"}


def check_interface(key: str, node: DictConfig, annotation: Any) -> None:
    """Raise UserError if the `_target_` or the `_partial_` of a node does not fit its key.

    Args:
        key: full key of the node.
        node: a mapping of the config.
        annotation: type of the constructor argument that receives the node; ignored for nodes at
            the top of the config.

    Raises:
        UserError: the node names a class of another kind, or describes an object in place of a
            factory (or the reverse).
    """
    kind, factory = _wanted(key, node, annotation)
    if kind is None:
        return
    if "_target_" not in node:
        raise UserError(f"{key}={node}: it has no _target_; choose an option of `ablate options`")
    if node.get("_partial_", False) is not factory:
        raise UserError(f"{key}._partial_={not factory}: it must be {str(factory).lower()} here")
    target = get_object(str(node["_target_"]))
    is_class = isinstance(target, type)
    if not (issubclass(target, kind) if is_class else key.rpartition(".")[0] not in NAMED):
        wanted = f"{kind.__module__}.{kind.__name__}"
        raise UserError(f"{key}._target_={node['_target_']}: it must be a subclass of {wanted}")


def _wanted(key: str, node: DictConfig, annotation: Any) -> tuple[type | None, bool]:
    """Return the class that a config key requires (None if any), and whether a factory is
    required.
    """
    if name := INTERFACES.get(key) or NAMED.get(key.rpartition(".")[0]):
        return get_object(name), key in FACTORIES
    for kind in get_args(annotation) if isinstance(annotation, UnionType) else (annotation,):
        if get_origin(kind) is Callable and isinstance(get_args(kind)[1], type):
            return get_args(kind)[1], True
        if "_target_" in node and getattr(kind, "__module__", "").startswith("ablate."):
            return kind, False
    return None, False


# keys that Hydra's instantiate interprets
INSTANTIATE_KEYS = {"_target_", "_partial_", "_convert_", "_recursive_", "_args_"}

# Arguments of Lightning's trainer that ablate sets itself, and what to use in their place.
OURS: dict[str, str] = yaml.safe_load(
    (PACKAGE / "config" / "trainer.yaml").read_text(encoding="utf-8")
)


def check_study_keys(config: DictConfig) -> None:
    """Raise an error for a key of the study that is missing or unknown, or has a wrong value."""
    if config.study is not None:
        OmegaConf.to_container(config.study, throw_on_missing=True)
        check_node(config.study, "study")


def check_groups(config: DictConfig) -> None:
    """Raise UserError if a group of keys, such as `budget`, was replaced by a single value, or if
    the value of a key at the top of the config or in `budget` is not allowed.

    OmegaConf itself refuses `budget=1`, but accepts an interpolation whose value is 1.
    """
    for key, annotation in (allowed_keys(config, "") or {}).items():
        check_value(key, config[key], annotation)
    check_node(config.budget, "budget")


def check(config: DictConfig) -> None:
    """Raise UserError for the first key or value of a config that is invalid; OmegaConf raises its
    own error for a key without a value.

    Every `_target_` is resolved, which imports the modules that the run will use.
    """
    OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    for key, instead in OURS.items():
        if key in config.trainer:
            raise UserError(f"trainer.{key} cannot be set: {instead}")
    check_groups(config)  # first, because values of other keys refer to the budget
    check_node(config, "")
    steps, given = config.budget.steps, config.trainer.get("max_steps")
    if isinstance(given, int) and given != steps:  # the schedule of the learning rate would differ
        raise UserError(
            f"trainer.max_steps={given} cannot be set, because it follows budget.steps ({steps}): "
            f"set budget.steps={given}"
        )
    if not config.test_splits and not OmegaConf.select(config, "study.tune"):
        # only runs that tune are never tested; all other runs need a test for the claims' metrics
        raise UserError("test_splits=[]: it must not be empty")


def check_node(value: Any, path: str, annotation: Any = Any) -> None:
    """Raise UserError for the first key or value in a part of a config that is invalid."""
    check_value(path, value, annotation)
    if isinstance(value, ListConfig):
        for i, item in enumerate(value):
            check_node(item, f"{path}[{i}]")
    elif isinstance(value, DictConfig):
        _walk_keys(value, path, annotation)
    elif isinstance(value, str) and value.startswith("~/"):
        raise UserError(
            f"{path}={value}: use {Path(value).expanduser()}, because ~ is not expanded here"
        )
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{path}={value}: it must be a finite number")


def _walk_keys(node: DictConfig, path: str, annotation: Any) -> None:
    annotations = allowed_keys(node, path)
    check_interface(path, node, annotation)
    # values come before interpolations of them, so that an error names the key with the value
    for key in sorted(map(str, node), key=lambda key: OmegaConf.is_interpolation(node, key)):
        full = f"{path}.{key}" if path else key
        if annotations is not None and key not in annotations:
            raise UserError(f"unknown key {full}: {_allowed(key, annotations, path)}")
        check_node(node[key], full, (annotations or {}).get(key, Any))


def _allowed(key: str, names: Iterable[str], path: str) -> str:
    """Return a hint for an unknown key in a node; `names` are the allowed keys of the node."""
    names = [name for name in names if not name.startswith("_")]
    if path:
        return name_hint(key, names)
    return f"{suggestion(key, [*names, *groups()])}`ablate --cfg job` prints all keys"


def is_component(node: DictConfig, key: Any) -> bool:
    """Return whether a key of a config node holds a node with a `_target_`."""
    return OmegaConf.is_dict(node[key]) and "_target_" in node[key]


def allowed_keys(node: DictConfig, path: str) -> dict[str, object] | None:
    """Return the allowed keys of a config node with their types; None if any key is allowed.

    Keys that only **kwargs of a constructor would accept are not allowed, because they cannot be
    checked.

    Args:
        node: a mapping of the config.
        path: full key of the node.
    """
    if path in NAMED:
        return dict.fromkeys(map(str, node), get_object(NAMED[path]))
    kind = OmegaConf.get_type(node)
    if dataclasses.is_dataclass(kind):
        return {f.name: f.type for f in dataclasses.fields(kind)}
    # the node of a logger may contain further loggers, by their names
    beside = [str(key) for key in node if path == "logger" and is_component(node, key)]
    if "_target_" not in node:
        return dict.fromkeys(beside, Any) if path == "logger" else None
    named = _parameters(load(path, str(node["_target_"])))
    return {
        **dict.fromkeys([*INSTANTIATE_KEYS, *beside], Any),
        **{k: Any if p.annotation is p.empty else p.annotation for k, p in named.items()},
    }


def load(path: str, target: str) -> Any:
    """Return the class or function that a `_target_` names.

    Args:
        path: full key of the node.
        target: its `_target_`.

    Raises:
        UserError: it cannot be imported, or has no such attribute.
    """
    try:
        return get_object(target)
    except Exception as error:  # importing a module can raise any type
        reason = first_line(error.__cause__ or error)
        raise UserError(f"{path}._target_={target} cannot be loaded: {reason}") from None


_parameters = cache(parameters)  # the cells of a sweep share a few classes
