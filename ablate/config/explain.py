"""Turn Hydra's error messages about a config into one sentence for the user."""

import dataclasses
import os
import re
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra._internal.hydra import Hydra
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException

from ablate.config.hints import groups, keys, likely, options_of, unknown, unknown_level
from ablate.config.location import CONF
from ablate.config.schema import ClaimNode, PublishedNode, ShownNode
from ablate.errors import first_line

KINDS = {"Integer": "a whole number", "Float": "a number"}
Keys = tuple[str | int, ...]  # the path to a value: names of keys, and positions in lists
A_LIST = "a list, such as [VALUE]"
# OmegaConf's messages about a value of the wrong form
FORMS = {
    "is not a ListConfig, list or tuple": A_LIST,
    "to Dict[": "keys with their values, such as {KEY: VALUE}",
    "Cannot merge DictConfig with ListConfig": "keys with their values, such as {KEY: VALUE}",
    "to string: ": "text",
    "is not a valid bool": "true or false",
    "is not a subclass of": "keys with their values, such as {KEY: VALUE}",
}
# entries of lists, whose position OmegaConf's messages do not contain
ENTRIES = {
    "ClaimNode": ("study.claims", ClaimNode),
    "PublishedNode": ("study.published", PublishedNode),
    "ShownNode": ("study.figures", ShownNode),
}
COMPOSITION = "hydra/_internal/config_loader_impl.py"
# details in OmegaConf's messages that are dropped
NOISE = ("full_key:", "reference_type=", "object_type=")


def explain(error: Exception, words: Sequence[str] = (), folders: Sequence[str] = ()) -> str | None:
    """Return one sentence for the user about an exception that Hydra raised while composing a
    config; None if the exception was not raised while composing.

    Args:
        error: the exception.
        words: the overrides of the command line.
        folders: the user's config folders (--config-dir).
    """
    by_hydra = isinstance(error, hydra.errors.HydraException | OmegaConfBaseException)
    files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    if not by_hydra and not any(name.endswith(COMPOSITION) for name in files):
        return None
    # Hydra may have ended, but the config groups are known only to an initialised Hydra
    with nullcontext() if GlobalHydra.instance().is_initialized() else searching(folders):
        if by_hydra:
            return _explain_twice(str(error), words) or _explain(error, words)
        return _explain_bare(error, words)


@contextmanager
def searching(folders: Sequence[str], main: str = str(CONF)) -> Iterator[None]:
    """Initialise Hydra for a `with` block, with the main config folder and the user's config
    folders.
    """
    with hydra.initialize_config_dir(os.path.abspath(main), version_base="1.3"):
        path = GlobalHydra.instance().config_loader().get_search_path()
        for folder in filter(Path.is_dir, map(Path, folders)):
            path.prepend("command-line", f"file://{folder.resolve()}", SearchPathQuery("schema"))
        GlobalHydra.instance().clear()  # this instance has already read its search path
        Hydra.create_main_hydra2("hints", path)
        yield


def _explain(error: Exception, words: Sequence[str]) -> str:
    if isinstance(error, hydra.errors.MissingConfigException):
        return _explain_level(error)
    if isinstance(error, hydra.errors.OverrideParseException):
        return _explain_unreadable(error.override)
    text = str(error) or f"{_blamed(words)}: {type(error).__name__}"
    group = re.search(r"Could not (?:override|append) '([^']+)'", text)
    cause: Any = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    named = re.search(r"Key '([^']+)' (?:is )?not in '(\w+)'", f"{cause}\n{text}")
    if named and not (group and "/" in group[1]):
        if named[2] in ENTRIES:
            return _explain_entry(named[1], named[2], text)
        full = re.search(r"full_key: (\S+)", f"{cause}\n{text}")
        return _explain_key(full[1] if full else named[1], cause)
    if group:
        return _explain_group(group[1], cause, words)
    return _explain_removal(text, cause) or _explain_value(text, cause, words)


def _explain_unreadable(word: str) -> str:
    if re.search(r",$|,,", word):
        return (
            f"{word} has a comma without a value beside it: write a comma only between two values, "
            "and no space after it, as in seed=0,1"
        )
    return (
        f"{word} cannot be read as key=value: put text with other than plain letters "
        "and digits in two pairs of quotes, as in \"name='...'\""
    )


def _explain_twice(message: str, words: Sequence[str]) -> str:
    """Return a sentence about a plus before the choice of a config group that has an option; "" if
    Hydra's message is about something else.
    """
    twice = re.match(r"Multiple values for (.+)\. To override", message)
    added = [word for word in words if twice and word.startswith(f"+{twice[1]}=")]
    if not twice or len(added) != 1:
        return ""
    return f"{added[0]}: {twice[1]} has an option already; leave out the plus: {added[0][1:]}"


def _explain_group(name: str, cause: Any, words: Sequence[str]) -> str:
    parent, _, leaf = name.rpartition("/")
    if not parent:
        return _explain_key(name, cause)
    if leaf not in groups(parent):
        return unknown(name, groups(parent))
    chosen = next((word for word in words if word.startswith(f"{parent}=")), parent)
    return (
        f"{chosen} has no {name}, but the command, the scale or the experiment chooses one; "
        f"choose another {parent}, or remove {name} there"
    )


def _explain_removal(text: str, cause: Any) -> str:
    """Return a sentence about a key that `~KEY` cannot remove; "" if Hydra's message is about
    something else.
    """
    if absent := re.match(r"Could not delete .*?'([^']+)'", text):
        word = f"~{absent[1]}"
        return f"{word}: the config has nothing of this name to remove; leave out {word}"
    if "does not support deletion" not in str(cause):
        return ""
    given = text.splitlines()[0].removeprefix("Error merging override ")
    return f"{given}: this key cannot be removed; leave out {given}, or set {given[1:]}=VALUE"


def _explain_value(text: str, cause: Any, words: Sequence[str]) -> str:
    given = text.splitlines()[0].removeprefix("Error merging override ")
    if file := re.match(r"In '([^']+)': \w+ raised while composing .*\n(.*)\n", text):
        return _explain_form(file[1], file[2], text)
    if "=" in given and (form := _form(f"{given}\n{cause}")).startswith("it must"):
        return f"{given.partition(' : ')[0].partition(': ')[0]}: {form}"
    # such an interpolation can be in a defaults list, where it selects an option
    unresolved = given.startswith("Error resolving interpolation")
    if unresolved or isinstance(cause, InterpolationResolutionError):
        # the error may have no key; then the overrides with an interpolation are named
        looked_up = ", ".join(word for word in words if "${" in word)
        subject = getattr(cause, "full_key", None) or looked_up or "the config"
        return f"{subject}: {given.partition(', possible')[0]}"
    lines = [line.strip() for line in f"{given}\n{cause}".splitlines() if line.strip()]
    details = [line for line in lines if not line.startswith(NOISE) and "append" not in line]
    return ": ".join(dict.fromkeys(details))


def _explain_form(file: str, message: str, text: str) -> str:
    """Return a sentence about a value in a YAML file that has the wrong form, such as a mapping for
    a list.

    If the file has a mapping in place of a list, or the reverse, OmegaConf's message may name no
    key. Then the key is found by merging parts of the file into the default config.
    """
    if named := re.search(r"full_key: (\S+)", text):
        return f"{_full_name(named[1], text)} in {file}.yaml: {_form(message)}"
    loader: Any = GlobalHydra.instance().config_loader()
    given: Any = OmegaConf.to_container(loader.repository.load_config(file).config)
    default = hydra.compose("config")
    OmegaConf.set_struct(default, False)
    path, value = _unfit(default, given)
    form = f"it must be {A_LIST}" if isinstance(value, dict) else _form(message)
    name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return f"{name.removeprefix('.') or 'a key'} in {file}.yaml: {form}"


def _unfit(default: DictConfig, given: Any, parent: Keys = ()) -> tuple[Keys, Any]:
    """Return the path and the value of the first part of a file that cannot be merged into the
    default config.

    The path is empty if every value could be merged on its own.
    """
    entries = given.items() if isinstance(given, dict) else enumerate(given)
    for name, value in entries:
        path = (*parent, name)
        if _takes(default, path, value):
            continue
        if isinstance(value, dict | list) and _takes(default, path, type(value)()):
            return _unfit(default, value, path)
        return path, value
    return (), None


def _takes(default: DictConfig, path: Keys, value: object) -> bool:
    nested: Any = value
    for name in reversed(path):
        nested = [nested] if isinstance(name, int) else {name: nested}
    try:
        OmegaConf.merge(default, nested)
    except OmegaConfBaseException:
        return False
    return True


def _explain_entry(key: str, kind: str, text: str) -> str:
    """Return a sentence about an unknown key of an item in a list of the study, such as a claim."""
    path, entry = ENTRIES[kind]
    names = [field.name for field in dataclasses.fields(entry)]
    leaf = key.rpartition(".")[2]
    file = re.match(r"In '([^']+)'", text)
    where = f" in {file[1]}.yaml" if file else ""
    return f"unknown key {_full_name(key, kind)}{where}: {likely(leaf, names, f'{path}.')}"


def _full_name(key: str, text: str) -> str:
    """Return the full key, such as `study.claims.statement` of `statement`; OmegaConf names keys
    inside a list relative to their item.
    """
    kind = re.search(rf"\b({'|'.join(ENTRIES)})\b", text)
    return f"{ENTRIES[kind[1]][0]}.{key}" if kind and not key.startswith("study") else key


def _form(message: str) -> str:
    """Return a phrase on the form that a value must have, such as "it must be a number", made from
    OmegaConf's message; the message itself if it tells no form.
    """
    wrong = re.search(r"Value '(.*)' of type '\w+' could not be converted to (\w+)", message)
    if wrong and wrong[2] in KINDS:
        return f"it must be {KINDS[wrong[2]]}, not {wrong[1]}"
    return next((f"it must be {form}" for part, form in FORMS.items() if part in message), message)


def _explain_bare(error: Any, words: Sequence[str]) -> str:
    """Return a sentence about an exception that does not name an override.

    The sentence names the override without which the config could be composed.
    """
    empty = re.search(r"'NoneType' object has no .*\n +full_key: (\S+)", str(error))
    if empty:  # typed nodes can be created only in a file
        return f"{empty[1]} is null in this config; set it in the file of the experiment"
    given = _blamed(words)
    node = given.partition("=")[0].rpartition(".")[0].lstrip("+~")
    if "Unexpected type for root: NoneType" in str(error) and node:  # a key below a null node
        return f"{given}: {node} is null in this config, so it has no keys"
    message = first_line(error)
    if "Config group override must be" in message:  # such as logger=null
        group = given.partition("=")[0]
        has_none = "none" in options_of(group)
        instead = f"set {group}=none" if has_none else "`ablate options` lists all options"
        message = f"an option must be a string; {instead}"
    if isinstance(error, yaml.reader.ReaderError):
        return f"{error.name}: {message}"
    if mark := getattr(error, "problem_mark", None):  # any other YAML error has one
        return f"{mark.name}: {error.problem} in line {mark.line + 1}"
    return f"{given}: {message}"


def _blamed(words: Sequence[str]) -> str:
    """Return the override that prevents the config from being composed.

    This is the last override for which the config can be composed if all overrides of its key are
    left out. For `logger=none logger.project=x` it is the second override, because it sets a key
    that the first override removes. If there is no such override, several overrides are invalid,
    and the first that cannot be composed alone is returned; else "the config".
    """
    for word in reversed(words):
        key = word.partition("=")[0]
        if _composes([other for other in words if other.partition("=")[0] != key]):
            return word
    return next((word for word in words if not _composes([word])), "the config")


def _composes(words: list[str]) -> bool:
    try:
        hydra.compose("config", words)
    except Exception:  # its parsers raise many types
        return False
    return True


def _explain_level(error: hydra.errors.MissingConfigException) -> str:
    missing = str(error.missing_cfg_file or "")
    group, _, level = missing.rpartition("/")
    # Hydra's error has no options for an entry of a list, such as logger=[wandb,csw]
    options = [str(option) for option in error.options or options_of(group)]
    if not options:
        return unknown(missing, [*groups(group), *keys(group.replace("/", "."))])
    return unknown_level(group, level, options)


def _explain_key(key: str, cause: Any) -> str:
    parent, _, _ = key.rpartition(".")
    kind = getattr(cause, "object_type", None)
    siblings = getattr(cause, "parent_node", None)
    allowed = keys(parent) or [str(name) for name in siblings or ()]
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        allowed = [f.name for f in dataclasses.fields(kind)]
    return unknown(key, [*allowed, *(groups("") if not parent else [])])
