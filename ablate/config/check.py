"""The walk over a composed config that closes the holes of Hydra's schema, and readable errors.

Hydra's schema catches unknown keys of the typed part. It lets pass: keys added with `+`, misspelt
groups added with `+`, removed groups (`~data`), and wrong arguments of a component, which would
fail only when the component is called. `check` finds them all before any work.
"""

import dataclasses
import difflib
import inspect
import math
import re
import traceback
from collections.abc import Iterable
from typing import Annotated, Any, get_args, get_origin

import hydra.errors
from hydra._internal import config_loader_impl
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException

from ablate.config.limits import FOREIGN, Limit
from ablate.config.schema import Config
from ablate.errors import UserError

# Words that Hydra's instantiate reads itself.
INSTANTIATE_KEYS = {"_target_", "_partial_", "_convert_", "_recursive_", "_args_"}

PLAIN = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    type(None): "null",
}
NOISE = ("full_key:", "reference_type=", "object_type=")  # of OmegaConf's messages


def check(config: DictConfig) -> None:
    """Raise UserError for the first key or value that no part of the program would accept.

    Resolves every `_target_`, which imports the modules that the run will use.
    """
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        raise UserError(f"{missing[0]} has no value; give one, for instance {missing[0]}=...")
    _resolvable(config)
    _walk(config, "")
    if not config.test_splits and not OmegaConf.select(config, "study.tune"):
        # the runs that tune a nuisance are never tested; claims find no metric in any others
        raise UserError("test_splits=[]: it must not be empty")


def _resolvable(config: DictConfig) -> None:
    try:
        OmegaConf.to_container(config, resolve=True)
    except InterpolationKeyError as error:
        raise UserError(f"{error.full_key}: {str(error.msg or error).splitlines()[0]}") from None


def _walk(value: Any, path: str, annotation: Any = Any) -> None:
    _check_limits(path, value, annotation)
    if isinstance(value, ListConfig):
        for i, item in enumerate(value):
            _walk(item, f"{path}[{i}]")
    elif isinstance(value, DictConfig):
        _walk_keys(value, path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{path}={value}: it must be a finite number")


def _walk_keys(node: DictConfig, path: str) -> None:
    annotations = _annotations(node, path)
    for key in map(str, node):
        full = f"{path}.{key}" if path else key
        if annotations is not None and key not in annotations:
            raise UserError(unknown(full, [*annotations, *([] if path else _groups(""))]))
        annotation = (annotations or {}).get(key, Any)
        if "_target_" in node:
            _check_kind(full, node[key], annotation)
        _walk(node[key], full, annotation)


def _annotations(node: DictConfig, path: str) -> dict[str, Any] | None:
    """Keys that a node may have, and what each may hold; None where anything goes (levels)."""
    kind = OmegaConf.get_type(node)
    if dataclasses.is_dataclass(kind):
        return {f.name: f.type for f in dataclasses.fields(kind)}
    if "_target_" in node:
        named = _signature(str(node["_target_"]), path)
        return {
            **dict.fromkeys(INSTANTIATE_KEYS, Any),
            **{k: p.annotation for k, p in named.items()},
        }
    return None


def _check_kind(key: str, value: Any, annotation: Any) -> None:
    """A plain value against the annotation of the constructor, which Hydra does not look at."""
    plain = _plain(annotation)
    if get_origin(plain) is list:
        if not isinstance(value, ListConfig):
            raise UserError(f"{key}={value}: it must be a list, such as [{value}]")
        return
    kinds = get_args(plain) or (plain,)
    if not all(isinstance(k, type) and k in PLAIN for k in kinds):
        return  # of a kind that only the constructor can judge
    accepted = {*kinds, int} if float in kinds else set(kinds)
    if type(value) not in accepted:
        named = [kind for kind in kinds if not (kind is int and float in kinds)]
        allowed = " or ".join(PLAIN[kind] for kind in named)
        raise UserError(f"{key}={value}: it must be {allowed}")


def _check_limits(key: str, value: Any, annotation: Any) -> None:
    own = [FOREIGN[key]] if key in FOREIGN else []
    for limit in (*own, *getattr(annotation, "__metadata__", ())):
        if isinstance(limit, Limit) and not limit.allows(value):
            raise UserError(f"{key}={value}: it must {limit}")


def _plain(annotation: Any) -> Any:
    """An annotation without its limits."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _signature(target: str, path: str) -> dict[str, inspect.Parameter]:
    """Named arguments of a target.

    What **kwargs would swallow cannot be checked, so only named arguments are allowed.
    """
    try:
        parameters = inspect.signature(get_object(target)).parameters
    except Exception as error:
        reason = str(error.__cause__ or error).splitlines()[0]
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
    if isinstance(error, hydra.errors.OverrideParseException):
        return (
            f"{error.override} cannot be read as key=value: put text with other than plain letters "
            "and digits in two pairs of quotes, as in \"name='...'\""
        )
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
    return _explain_value(text, cause)


def _explain_value(text: str, cause: Any) -> str:
    given = text.splitlines()[0].removeprefix("Error merging override ")
    key = given.partition("=")[0].lstrip("+")
    if "is not a subclass of" in str(cause):
        return f"{given}: {key} has keys of its own, of which you can set {', '.join(_keys(key))}"
    lines = [line.strip() for line in f"{given}\n{cause}".splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(NOISE) and "append" not in line]
    return ": ".join(dict.fromkeys(said))


def explain_bare(error: Any) -> str | None:
    """Explain an exception that Hydra's composition lets through; None for one from elsewhere.

    Such exceptions do not say what was overridden, which stands only in Hydra's variables.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not any(frame.f_code.co_filename == config_loader_impl.__file__ for frame in frames):
        return None
    known = frames[-1].f_locals
    if "Unexpected type for root: NoneType" in str(error):  # a key below a node that is null
        node = str(known["key"]).rpartition(".")[0]
        return f"{known['key']}={known['value']}: {node} is null in this config, so it has no keys"
    paths = [frame.f_locals["full_path"] for frame in frames if "full_path" in frame.f_locals]
    given = known["override"].input_line if "override" in known else (*paths, "the config")[0]
    mark = getattr(error, "problem_mark", None)  # of a YAML error
    said = f"{error.problem} in line {mark.line + 1}" if mark else str(error).splitlines()[0]
    return f"{given}: {said}"


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
        kinds = {f.name: _plain(f.type) for f in dataclasses.fields(node)}
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
