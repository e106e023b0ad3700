"""The walk over a composed config that closes the holes of Hydra's schema, and readable errors.

Hydra's schema catches unknown keys of the typed part. It lets pass: keys added with `+`, misspelt
groups added with `+`, removed groups (`~data`), and wrong arguments of a component, which would
fail only when the component is called. `check` finds them all before any work.
"""

import dataclasses
import difflib
import inspect
import re
from collections.abc import Iterable
from typing import Any, get_args

import hydra.errors
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException

from ablate.errors import UserError
from ablate.schema import Config

# Words that Hydra's instantiate reads itself.
INSTANTIATE_KEYS = {"_target_", "_partial_", "_convert_", "_recursive_", "_args_"}

PLAIN = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    type(None): "null",
}
ALLOWED = {
    "batch.too_long": ("skip", "truncate"),
    "checkpoint.tested": ("last", "best", "average"),
}
AT_LEAST_ONE = (
    "threads",
    "budget.steps",
    "budget.validate_every",
    "budget.test_sentences",
    "checkpoint.average",
    "checkpoint.every",
)


def check(config: DictConfig) -> None:
    """Raise UserError for the first key or value that no part of the program would accept.

    Resolves every `_target_`, which imports the modules that the run will use.
    """
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise UserError(f"{missing[0]} has no value; give one, for instance {missing[0]}=...")
    _resolvable(config)
    _walk(config, "")
    for key, allowed in ALLOWED.items():
        given = OmegaConf.select(config, key)
        if given not in allowed:
            raise UserError(f"{key}={given}: allowed is {' or '.join(allowed)}")
    for key in AT_LEAST_ONE:
        if OmegaConf.select(config, key) < 1:
            raise UserError(f"{key}={OmegaConf.select(config, key)}: it must be at least 1")


def _resolvable(config: DictConfig) -> None:
    try:
        OmegaConf.to_container(config, resolve=True)
    except InterpolationKeyError as error:
        raise UserError(f"{error.full_key}: {str(error.msg or error).splitlines()[0]}") from None


def _walk(node: Any, path: str) -> None:
    if isinstance(node, ListConfig):
        for i in range(len(node)):
            _walk(node._get_node(i), f"{path}[{i}]")
    if not isinstance(node, DictConfig) or node._is_none():
        return
    allowed = _allowed_keys(node, path)
    if "_target_" in node:
        _check_values(node, path)
    for key in map(str, node):
        full = f"{path}.{key}" if path else key
        if allowed is not None and key not in allowed:
            raise UserError(unknown(full, allowed if path else [*allowed, *_groups("")]))
        _walk(node._get_node(key), full)


def _allowed_keys(node: DictConfig, path: str) -> list[str] | None:
    """Keys that a node may have; None where anything goes (a mapping of levels)."""
    kind = OmegaConf.get_type(node)
    if dataclasses.is_dataclass(kind):
        return [f.name for f in dataclasses.fields(kind)]
    if "_target_" in node:
        return [*_signature(str(node["_target_"]), path), *INSTANTIATE_KEYS]
    return None


def _check_values(node: DictConfig, path: str) -> None:
    """Plain values against the annotations of the constructor, which Hydra does not look at."""
    for key, parameter in _signature(str(node["_target_"]), path).items():
        kinds = get_args(parameter.annotation) or (parameter.annotation,)
        if key not in node or not all(isinstance(k, type) and k in PLAIN for k in kinds):
            continue  # not given, or of a kind that only the constructor can judge
        accepted = {*kinds, int} if float in kinds else set(kinds)
        if type(node[key]) not in accepted:
            allowed = " or ".join(PLAIN[kind] for kind in kinds)
            raise UserError(f"{path}.{key}={node[key]}: it must be {allowed}")


def _signature(target: str, path: str) -> dict[str, inspect.Parameter]:
    """Named arguments of a target.

    What **kwargs would swallow cannot be checked, so only named arguments are allowed.
    """
    try:
        parameters = inspect.signature(get_object(target)).parameters
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}._target_={target} cannot be loaded: {reason}") from None
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {name: p for name, p in parameters.items() if p.kind not in variadic}


def unknown(key: str, allowed: Iterable[str]) -> str:
    """One sentence about a key or level that does not exist, with the nearest one that does."""
    names = sorted(name for name in allowed if not name.startswith("_"))
    leaf = re.split(r"[./]", key)[-1]
    near = difflib.get_close_matches(leaf, names, n=1, cutoff=0.6)
    parent = key[: len(key) - len(leaf)]
    hint = f"did you mean {parent}{near[0]}? " if near else ""
    return f"unknown key {key}: {hint}allowed here is {', '.join(names) or 'nothing'}"


def explain(error: Exception) -> str:
    """Turn an exception of Hydra's composition into one sentence for the user."""
    if isinstance(error, hydra.errors.MissingConfigException):
        return _explain_level(error)
    text = str(error)
    group = re.search(r"Could not (?:override|append) '([^']+)'", text)
    cause: Any = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    named = re.search(r"Key '([^']+)' (?:is )?not in '(\w+)'", f"{cause}\n{text}")
    if group and "/" in group[1]:
        return unknown(group[1], _groups(group[1].rpartition("/")[0]))
    if named:
        full = re.search(r"full_key: (\S+)", f"{cause}\n{text}")
        return _explain_key(full[1] if full else named[1], cause)
    if group:
        return _explain_key(group[1], cause)
    lines = [line.strip() for line in f"{text}\n{cause}".splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(line for line in lines if "append" not in line))


def _explain_level(error: hydra.errors.MissingConfigException) -> str:
    missing = str(error.missing_cfg_file or "")
    options = [str(option) for option in error.options or []]
    group, _, level = missing.rpartition("/")
    if not options:
        return unknown(missing, [*_groups(group), *_keys(group.replace("/", "."))])
    near = difflib.get_close_matches(level, options, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{group}={level} does not exist: {hint}allowed is {', '.join(options)}"


def _explain_key(key: str, cause: Any) -> str:
    parent, _, _ = key.rpartition(".")
    kind = getattr(cause, "object_type", None)
    siblings = getattr(cause, "parent_node", None)
    allowed = _keys(parent) or [str(name) for name in siblings or ()]
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        allowed = [f.name for f in dataclasses.fields(kind)]
    return unknown(key, [*allowed, *(_groups("") if not parent else [])])


def _keys(path: str) -> list[str]:
    """Keys of the schema below a dotted path; empty below a component."""
    node: Any = Config
    for part in filter(None, path.split(".")):
        kinds = {f.name: f.type for f in dataclasses.fields(node)}
        node = next(
            filter(dataclasses.is_dataclass, (kinds.get(part), *get_args(kinds.get(part)))), None
        )
        if node is None:
            return []
    return [f.name for f in dataclasses.fields(node)]


def _groups(parent: str) -> list[str]:
    """Config groups below `parent`, found on Hydra's search path."""
    if not GlobalHydra.instance().is_initialized():
        return []
    loader = GlobalHydra.instance().config_loader()
    return [g for g in loader.get_group_options(parent, ObjectType.GROUP) if g != "hydra"]
