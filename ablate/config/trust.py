"""Restrict which objects the config of a run from elsewhere may construct.

Hydra calls the function that a `_target_` names, so such a config could start any program. A node
is accepted only if an option of `ablate`, or of an importable catalogue, constructs a node under
the same key in the same way. A catalogue is not importable merely because the command was typed in
its project, since that folder may come from elsewhere, too. For any other node, the user must trust
the full name of a class, or a package. A class of a trusted package must also have the interface
that its key requires. All names are checked before any of them is imported.
"""

import functools
import sys
from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.utils import get_object

from ablate.config import CONF, is_below, is_importable, option_folders
from ablate.config.check import INSTANTIATE_KEYS, load
from ablate.errors import UserError

UNTRUSTED = "which is not trusted"
# packages that are never the user's own
LIBRARIES = {"ablate", "torch", "pytorch_lightning", *sys.stdlib_module_names}
Words = dict[str, object]  # keys that Hydra's instantiate interprets: _target_, _partial_, ...


def check_targets(config: Mapping[str, object], trust: Sequence[str]) -> None:
    """Raise UserError for a plain config (dicts and lists) that would construct an object which is
    not trusted, or execute an interpolation.

    Args:
        config: nodes of a run's config by their keys.
        trust: full names of trusted classes and packages.

    Raises:
        UserError: a node constructs an object that is not trusted, or a value contains an
            unresolved interpolation.
    """
    for key, value in _walk(config, ""):
        if isinstance(value, str) and ("${" in value or value == "???"):  # OmegaConf executes it
            raise UserError(
                f"{key} is {value!r}, which has yet to be resolved, but the config of a finished "
                "run has only values: restore its config.yaml"
            )
    foreign = [(k, words) for k, words in _nodes(config, "") if not _is_allowed(words, _levels(k))]
    for key, words in foreign:
        if not _lies_in(words.get("_target_"), trust):
            raise _refusal(key, words, UNTRUSTED)
    for key, words in foreign:  # importing a package executes its code, so this comes last
        if words["_target_"] not in trust:
            _check_kind(key, words, trust)


def _check_kind(key: str, words: Words, trust: Sequence[str]) -> None:
    """Raise UserError if a class of a trusted package does not have the interface that its key
    requires.

    Args:
        key: full key of the node that names the class.
        words: the keys of the node that Hydra interprets, such as `_target_`.
        trust: full names of trusted classes and packages.
    """
    target = str(words["_target_"])
    levels = [level for level in _levels(key) if _is_allowed(level | {"_target_": target}, [words])]
    target_class = load(key, target)
    if not isinstance(target_class, type) or not _lies_in(target_class.__module__, trust):
        raise _refusal(key, words, "which is not a class of a trusted package")
    if not any(
        _interfaces(target_class) & _interfaces(get_object(str(level["_target_"])))
        for level in levels
    ):
        raise _refusal(key, words, "which is of another kind than what belongs there")


def _levels(key: str) -> list[Words]:
    return _nodes_by_key(option_folders() if is_importable() else (CONF,)).get(key, [])


@functools.cache
def _nodes_by_key(folders: tuple[Path, ...]) -> dict[str, list[Words]]:
    """Return the nodes that construct an object, in all options of some config folders, by the
    config key that they set.

    A key has several nodes if its config group has several options. A node is reduced to the keys
    that Hydra's instantiate interprets, such as `_target_` and `_partial_`, with their values.
    """
    by_key: dict[str, list[Words]] = {}
    elsewhere: dict[str, str] = {}  # groups that are used under another key
    paths = [(folder, path) for folder in folders for path in folder.rglob("*.yaml")]
    for folder, path in sorted(paths):
        group = ".".join(path.relative_to(folder).parent.parts)
        plain = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        elsewhere |= _groups_by_key(plain.get("defaults", []), group)
        for key, words in _nodes(plain, group):
            if "_target_" in words:
                by_key.setdefault(key, []).append(words)
    for key, group in elsewhere.items():
        by_key.setdefault(key, []).extend(by_key.get(group, []))
    return by_key


def _groups_by_key(defaults: list[Any], group: str) -> dict[str, str]:
    """Return the config group of each key under which a defaults list places an option of another
    group, by an entry `GROUP@KEY: OPTION`.

    GROUP and KEY are relative to `group`, the group of the config file with the defaults list.
    """
    names = (name for entry in defaults if isinstance(entry, dict) for name in entry)
    pairs = (name.split("@") for name in names if "@" in name and "_global_" not in name)
    return {_join(group, package): _join(group, source) for source, package in pairs}


def _nodes(node: Any, key: str) -> Iterator[tuple[str, Words]]:
    """Yield every mapping that Hydra would instantiate: its full key, and the items that Hydra
    interprets, such as `_target_`.
    """
    for path, value in _walk(node, key):
        words = value if isinstance(value, dict) else {}
        if interpreted := {name: words[name] for name in words if name in INSTANTIATE_KEYS}:
            yield path, interpreted


def _walk(node: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield a node and everything below it, with full keys."""
    yield key, node
    children = node if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, child in dict(children).items():
        yield from _walk(child, _join(key, name))


def _join(key: str, name: Any) -> str:
    return f"{key}.{name}" if key else str(name)


def _is_allowed(words: Words, levels: list[Words]) -> bool:
    return repr(sorted(words.items())) in [repr(sorted(level.items())) for level in levels]


def _interfaces(kind: type) -> set[type]:
    """Return the interfaces that a class implements: its base classes in ablate that subclass ABC
    directly.
    """
    ours = (base for base in kind.__mro__ if base.__module__.startswith("ablate."))
    return {base for base in ours if ABC in base.__bases__}


def _lies_in(name: Any, trust: Sequence[str]) -> bool:
    return isinstance(name, str) and is_below(name, trust)


def _refusal(key: str, words: Words, why: str) -> UserError:
    settings = " and ".join(f"{name}={value!r}" for name, value in words.items())
    allowed = dict.fromkeys(str(level["_target_"]) for level in _levels(key))
    package = str(words.get("_target_", "")).partition(".")[0]
    hint = ""
    if why == UNTRUSTED and package.isidentifier() and package not in LIBRARIES:
        hint = f"if you wrote the package {package}, add trust={package}, which runs its code; "
    names = ", ".join(allowed) or "no class"
    return UserError(f"{key} has {settings}, {why}, so it is refused: {hint}{key} allows {names}")
