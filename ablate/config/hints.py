"""Suggest existing names for unknown config keys and options."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import yaml
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.types import RunMode

from ablate.config.leaves import leaves

MANY = 23  # number of names that a message can hold
MOST = 3  # maximum number of suggestions
NAMES = ("name", "type", "kind")  # keys that select an option in other frameworks
SLIP = 0.9  # similarity of two words that differ by a typing error
WORDS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
# our names of keys and of options, by their names in other frameworks
ALIASES = {alias: key for key, aliases in WORDS["keys"].items() for alias in aliases}
LEVEL_ALIASES = {alias: option for option, aliases in WORDS["options"].items() for alias in aliases}


def unknown(key: str, allowed: Iterable[str], where: str = "") -> str:
    """Return an error message that a config key does not exist, with similar names among
    `allowed`; `where` may name the file of the key, as in " in mine.yaml".
    """
    names = sorted({name for name in allowed if not name.startswith("_")})
    leaf = re.split(r"[./]", key)[-1]
    parent = key[: len(key) - len(leaf)]
    if not parent and leaf in names:  # a group without a default
        return f"{key}= needs a plus, +{key}=OPTION, because it has no default option"
    slip = difflib.get_close_matches(leaf, names, n=1, cutoff=SLIP)
    slip = [] if leaf in slip else slip  # then the parent is unknown
    suggestions = [*(parent + name for name in slip)]
    suggestions += elsewhere(key, anywhere=not parent or leaf in names)
    if not suggestions and leaf in NAMES and options_of(parent[:-1]):
        suggestions = [f"{parent[:-1]}=OPTION"]
    if not suggestions and (near := nearest(leaf, names)) != leaf and near:
        suggestions = [f"{parent}{near}"]
    hint = f"did you mean {' or '.join(suggestions[:MOST])}? " if suggestions else ""
    parts = "groups of options" if "/" in key else "keys"
    here = f"allowed here is {', '.join(names)}" if names else f"{parent[:-1]} has no {parts}"
    if len(names) > MANY:
        lists = "`ablate options` lists all options, `ablate --cfg job` all keys"
        here = "" if suggestions else f"{lists} ({len(names)} here)"
    return f"unknown key {key}{where}: {hint}{here}".rstrip()


def likely(word: str, names: Sequence[str], parent: str = "") -> str:
    """Return a hint for an error message: the name most similar to `word`, if there is one, and
    all allowed names.

    `parent` is put in front of the most similar name.
    """
    return f"{suggestion(word, names, parent)}allowed is {', '.join(names)}"


def suggestion(word: str, names: Sequence[str], parent: str = "") -> str:
    """Return "did you mean NAME? " with the name most similar to `word`, after `parent`; "" if no
    name is similar.
    """
    near = nearest(word, names)
    return f"did you mean {parent}{near}? " if near else ""


def unknown_level(group: str, level: str, levels: Sequence[str]) -> str:
    """Return an error message that a config group does not have an option, with a similar
    option.
    """
    many = len(levels) > MANY
    allowed = (
        f"`ablate options {group}` lists all {len(levels)}"
        if many
        else f"allowed is {', '.join(levels)}"
    )
    return f"{group}={level} does not exist: {suggestion(level, levels)}{allowed}"


def nearest(word: str, names: Sequence[str]) -> str:
    """Return the name that is most similar to a word; "" if no name is similar.

    If other frameworks use the word for an option, this option is returned. Otherwise names that
    contain the word come first.
    """
    alias = LEVEL_ALIASES.get(word.lower().replace("-", "_"), "")
    if alias in names:
        return alias
    holding = [name for name in names if len(word) > 2 and word in name]
    close = difflib.get_close_matches(word, holding or names, n=1, cutoff=0.0 if holding else 0.6)
    return close[0] if close else ""


def elsewhere(key: str, *, anywhere: bool) -> list[str]:
    """Return existing keys that the user may mean by an unknown key, the most likely key first.

    The first is the key for which other frameworks use this name, if there is one. With `anywhere`,
    config groups, options and keys with the same last part follow.
    """
    leaf = re.split(r"[./]", key)[-1]
    alias = [ALIASES[name] for name in (key, leaf) if name in ALIASES][:1]
    if not anywhere:
        return alias
    tree = [key for key in _tree(_search_path()) if re.split(r"[./=]", key)[-1] == leaf]
    parts = [key for key in tree if "/" in key]
    keys = sorted((key for key in tree if "/" not in key), key=lambda key: (key.count("."), key))
    groups_ = [key for key in parts if "=" not in key]
    return list(dict.fromkeys([*alias, *(groups_ or keys or parts)]))


def groups(parent: str) -> list[str]:
    """Return the config groups below `parent` on Hydra's search path."""
    return [name for name in _options(parent, ObjectType.GROUP) if name != "hydra"]


def options_of(group: str) -> list[str]:
    """Return the options of a config group; an empty list if there is no such group."""
    return _options(group, ObjectType.CONFIG)


def chosen_by(key: str) -> str:
    """Return the config group that selects the component of a key; "" if there is none.

    Examples are model/norm, and model/norm@model.encoder.norm for the norm of the encoder alone.
    """
    first, _, leaf = key.partition(".")
    if not leaf:
        return ""
    group, shared = key.replace(".", "/"), f"{first}/{leaf.rpartition('.')[2]}"
    if options_of(group):
        return group
    return f"{shared}@{key}" if options_of(shared) else ""


def _options(parent: str, kind: ObjectType) -> list[str]:
    return [*_group_options(_search_path(), parent, kind)]


@cache  # Hydra copies its state for each query, and a check makes many queries
def _group_options(search_path: tuple[str, ...], parent: str, kind: ObjectType) -> list[str]:
    if not search_path:
        return []
    options: list[str] = GlobalHydra.instance().config_loader().get_group_options(parent, kind)
    return options


def _search_path() -> tuple[str, ...]:
    """Return the folders in which Hydra looks for configs; empty if Hydra is not running."""
    if not GlobalHydra.instance().is_initialized():
        return ()
    path = GlobalHydra.instance().config_loader().get_search_path()
    return tuple(str(element.path) for element in path.get_path())


@cache
def _tree(search_path: tuple[str, ...]) -> list[str]:
    """Return every group, option (group=option) and key of the default config."""
    if not search_path:
        return []
    loader = GlobalHydra.instance().config_loader()
    config = loader.load_configuration("config", overrides=[], run_mode=RunMode.RUN)
    group_names = [*_groups_below("")]
    chosen = config.hydra.runtime.choices  # groups without a default need a plus
    named = [
        (group if group in chosen else f"+{group}", options_of(group)) for group in group_names
    ]
    levels = [f"{group}={level}" for group, each in named for level in each]
    keys_ = [key for key, value in leaves(config).items() if "." in key or value is not None]
    return [*dict.fromkeys([*group_names, *levels, *filter(_of_user, keys_)])]


def _of_user(key: str) -> bool:
    """Return whether the user can set a key; keys of Hydra are excluded."""
    return not any(part == "hydra" or part.startswith("_") for part in key.split("."))


def _groups_below(parent: str) -> Iterator[str]:
    for name in groups(parent):
        path = f"{parent}/{name}" if parent else name
        yield path
        yield from _groups_below(path)
