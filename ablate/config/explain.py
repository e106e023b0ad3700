"""Turn Hydra's errors about a config into one sentence for the user.

The sentence names the override or the file, and says which values the schema allows there. Only the
names of overrides and files are read from Hydra's messages.
"""

import dataclasses
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, get_args

import hydra
import yaml
from hydra._internal.hydra import Hydra
from hydra.conf import HydraConf
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from ablate.config.hints import groups, options_of, unknown, unknown_level
from ablate.config.interpolations import explain_interpolation
from ablate.config.kinds import alternatives, must_be
from ablate.config.location import CONF
from ablate.config.lookup import obstacle
from ablate.config.schema import Config
from ablate.errors import first_line

COMPOSITION = "hydra/_internal/config_loader_impl.py"
UNKNOWN_KEY = (ConfigAttributeError, ConfigKeyError)
OVERRIDE = re.compile(r"Could not override '(?P<key>.+)'|Error merging override (?P<word>.+)")
FILE = re.compile(r"In '(.+)': \w+ raised while composing")
TWICE = re.compile(
    r"Multiple values for (.+)\. To override|(.+) appears more than once in the final defaults"
    r"|Could not append to config\. An item is already at '(.+)'"
)
AMBIGUOUS = re.compile(r"(?:Ambiguous value for argument|Sweep parameters) '(.+?)'(?: requires|$)")


@dataclasses.dataclass
class Root(Config):
    """All top-level keys, including the keys of Hydra."""

    hydra: HydraConf = dataclasses.field(default_factory=HydraConf)


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
        return _explain(error, str(error).partition("\n")[0], words)


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


def _explain(error: Any, line: str, words: Sequence[str]) -> str:
    """Return a sentence about an exception; `line` is the first line of its message."""
    if isinstance(error, hydra.errors.MissingConfigException):
        return _explain_option(error)
    if isinstance(error, hydra.errors.OverrideParseException):
        return _explain_unreadable(error.override)
    if file := FILE.match(line):
        return _explain_place(file[1], words) or _explain_file(file[1], error.__context__)
    if given := OVERRIDE.search(line):
        refused = given["word"] or given["key"]
        key = refused.partition("=")[0].lstrip("+")
        return (
            _explain_group(key, words)
            or _explain_key(refused, words)
            or _explain_override(refused, error.__cause__, words)
        )
    return _explain_choice(line, words) or _explain_other(error, line, words)


def _explain_option(error: hydra.errors.MissingConfigException) -> str:
    missing = str(error.missing_cfg_file or "")
    group, _, level = missing.rpartition("/")
    # Hydra's error has no options for an entry of a list, such as logger=[wandb,csw]
    options = [str(option) for option in error.options or options_of(group)]
    if not options:
        kind = _kind_at(group.split("/")) if group else Config
        return unknown(missing, [*groups(group), *(_fields(kind) or ())])
    return unknown_level(group, level, options)


def _explain_unreadable(word: str) -> str:
    if re.search(r",$|,,", word):
        return (
            f"{word} has a comma without a value beside it: write a comma only between two values, "
            "and no space after it, as in seed=0,1"
        )
    if "=" not in word:
        example = f", as in +experiment={word}" if word in options_of("experiment") else ""
        return f"{word} cannot be read: an override is key=value, or +key=value{example}"
    return (
        f"{word} cannot be read as key=value: put text with other than plain letters "
        "and digits in two pairs of quotes, as in \"name='...'\""
    )


def _explain_group(name: str, words: Sequence[str]) -> str:
    """Return a sentence about a config group that a component does not have, or about a key that
    the command removes; "" for another key.
    """
    for word in words:
        if name and word.startswith("~") and f"{name}.".startswith(f"{word[1:]}."):
            return f"{name} cannot be set, because {word} removes it; leave out {word}"
    parent, _, leaf = name.rpartition("/")
    if not parent:
        return ""
    if leaf not in groups(parent):
        return unknown(name, groups(parent))
    chosen = next((word for word in words if word.startswith(f"{parent}=")), parent)
    return (
        f"{chosen} has no {name}, but the command, the scale or the experiment chooses one; "
        f"choose another {parent}, or remove {name} there"
    )


def _explain_key(given: str, words: Sequence[str]) -> str:
    """Return a sentence about the part of an override's key that leads no further; "" if there is
    no such part, or if other overrides are wrong.

    Args:
        given: the override, or its key alone.
        words: all overrides of the command line.
    """
    key = _key(given)
    word = next((word for word in words if _key(word) == key), given)
    config = _composed([other for other in words if _key(other) != key])
    return "" if config is None else obstacle(word, config)


def _key(word: str) -> str:
    return word.partition("=")[0].lstrip("+~")


def _explain_override(given: str, cause: Any, words: Sequence[str] = ()) -> str:
    """Return a sentence about an override that does not fit the schema.

    Args:
        given: the override, or its key alone if this key does not exist.
        words: all overrides of the command line.
        cause: the exception of OmegaConf, which names keys inside a new list relative to an item;
            None if the key is a group without a default.
    """
    if cause is None:
        return _unknown(given, _fields(Config))
    key = given.partition("=")[0].lstrip("+~")
    if given.startswith("~"):
        return f"{given}: this key cannot be removed; leave out {given}, or set {key}=VALUE"
    full = re.sub(r"\[(\d+)\]", r".\1", str(key if cause.full_key is None else cause.full_key))
    if full.partition(".")[0] != key.partition(".")[0]:
        full = f"{key}.{full}"
    fields = _fields(cause.object_type)
    if isinstance(cause, UNKNOWN_KEY):
        if fields:
            return _unknown(full, fields)
        # A component takes keys without a type. Its hint depends on the last part of the whole key.
        name = key if key.startswith(f"{full}.") else full
        return _unknown(name, map(str, cause.parent_node))
    return _explain_value(given, full, cause, words)


def _explain_value(given: str, full: str, cause: Any, words: Sequence[str]) -> str:
    """Return a sentence about a value that does not fit the schema.

    Args:
        given: the override.
        full: the full key of the value that does not fit, which may be inside the override's value.
        cause: the exception of OmegaConf.
        words: all overrides of the command line.
    """
    key, _, value = given.lstrip("+~").partition("=")
    if group := _chosen_at(key, words):
        return unknown_level(group, value, options_of(group.partition("@")[0]))
    fields = _fields(cause.object_type)
    kind = fields[cause.key] if fields and cause.key else _kind_at(full.split("."))
    if kind is Any:  # then OmegaConf names the type of the dictionary that has the key
        kind = (get_args(alternatives(cause.ref_type)[0]) or (cause.ref_type,))[-1]
    wrong = must_be(alternatives(kind), cause.value)
    if full == key:
        return f"{given}: {wrong}"
    wrong = wrong.replace("it must", f"{full} must")
    return f"{given}: {wrong}" if cause.value is None else f"{given}: {wrong}, not {cause.value}"


def _chosen_at(key: str, words: Sequence[str]) -> str:
    """Return the config group that places an option at a key, such as search@validation_search; ""
    if there is none.
    """
    config = _composed([word for word in words if _key(word) != key])
    choices = [] if config is None else [*config.hydra.runtime.choices]
    return next((group for group in choices if group.endswith(f"@{key}")), "")


def _explain_place(file: str, words: Sequence[str]) -> str:
    """Return a sentence about an override that places the option of a file at a key that does not
    exist; "" if there is none.
    """
    for word in words:
        group, _, package = _key(word).partition("@")
        option = word.partition("=")[2]
        if f"{group}/{option}" == file and package and package not in (_fields(Config) or ()):
            return f"{word}: {_unknown(package, _fields(Config))}"
    return ""


def _explain_file(file: str, cause: Any) -> str:
    """Return a sentence about the first part of a YAML file that does not fit the schema."""
    loader: Any = GlobalHydra.instance().config_loader()
    if (loaded := loader.repository.load_config(file)) is None:  # in a folder of hydra.searchpath
        return _explain_override(str(cause.full_key), cause)
    path, value = _unfit(OmegaConf.to_container(loaded.config))
    if not path:
        return f"{file}.yaml: {first_line(cause)}"
    names = _fields(_kind_at(path[:-1]))
    if names and path[-1] not in names:
        return _unknown(".".join(path), names, f" in {file}.yaml")
    wrong = must_be(alternatives(_kind_at(path)), value)
    return f"{'.'.join(path)} in {file}.yaml: {wrong}, not {value}"


def _unfit(content: Any, parent: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Any]:
    """Return the path and the value of the first part of a file that cannot be merged into the
    schema.

    The path is empty if every value could be merged on its own.
    """
    entries = content.items() if isinstance(content, dict) else enumerate(content)
    for name, value in entries:
        path = (*parent, str(name))
        if _takes(path, value):
            continue
        if isinstance(value, dict | list) and _takes(path, type(value)()):
            return _unfit(value, path)
        return path, value
    return (), None


def _takes(path: Sequence[str], value: object) -> bool:
    nested: Any = value
    for name in reversed(path):
        nested = [nested] if name.isdigit() else {name: nested}
    try:
        OmegaConf.merge(OmegaConf.structured(Root), nested)
    except OmegaConfBaseException:
        return False
    return True


def _kind_at(path: Sequence[str]) -> Any:
    """Return the type that the schema has for a value; `Any` if it is not typed."""
    kind: Any = Root
    for name in path:
        if (fields := _fields(kind)) is not None:
            kind = fields.get(name, Any)
        else:  # a list or a dictionary
            kind = (get_args(alternatives(kind)[0]) or (Any,))[-1]
    return kind


def _fields(kind: Any) -> dict[str, object] | None:
    """Return the types of the fields of a dataclass, which may be optional; None for other
    types.
    """
    node = next(filter(dataclasses.is_dataclass, alternatives(kind)), None)
    return None if node is None else {f.name: f.type for f in dataclasses.fields(node)}


def _unknown(key: str, names: Iterable[str] | None, where: str = "") -> str:
    return unknown(key, [*(names or ()), *(groups("") if "." not in key else [])], where)


def _explain_choice(line: str, words: Sequence[str]) -> str:
    """Return a sentence about an override that chooses an option twice, removes nothing or has
    several values; "" for other messages.
    """
    if absent := re.match(r"Could not delete (?:from config\. )?'([^']+)'", line):
        word = f"~{absent[1]}"
        return f"{word}: the config has nothing of this name to remove; leave out {word}"
    if several := AMBIGUOUS.match(line):
        return (
            f"{several[1]}: only a sweep, which is `python -m ablate` with -m, takes several "
            "values; give one value, or write a list in brackets, as in key=[a,b]"
        )
    return _explain_plus(line, words)


def _explain_plus(line: str, words: Sequence[str]) -> str:
    """Return a sentence about an override that has a plus too many, or that sets a key twice; ""
    for other messages.
    """
    if twice := TWICE.match(line):
        chosen = [word for word in words if _key(word) == (twice[1] or twice[2] or twice[3])]
        if len(chosen) > 1:
            return f"{' and '.join(chosen)} set one key twice: leave out all but one of them"
        if chosen and chosen[0].startswith("+"):
            has = f"{_key(chosen[0])} has {'a value' if twice[3] else 'an option'} already"
            return f"{chosen[0]}: {has}; leave out the plus: {chosen[0][1:]}"
    if forced := re.match(r"force-add of config groups is not supported: '(.+)'", line):
        word = forced[1].lstrip("+")
        plus = "" if _composed([word]) else "+"
        return f"{forced[1]}: an option is not set with two pluses; give {plus}{word}"
    if nowhere := re.search(r"looks like .*, but config group '(.+)' does not exist", line):
        return unknown(nowhere[1], groups(""))
    return ""


def _explain_other(error: Any, line: str, words: Sequence[str]) -> str:
    """Return a sentence about an exception that names no override.

    The sentence names the YAML file that cannot be read, or the override without which the config
    could be composed.
    """
    if isinstance(error, yaml.reader.ReaderError):
        return f"{error.name}: {line}"
    if mark := getattr(error, "problem_mark", None):  # any other YAML error has one
        return f"{mark.name}: {error.problem} in line {mark.line + 1}"
    empty = re.search(r"'NoneType' object has no .*\n +full_key: (\S+)", str(error))
    if empty:  # typed nodes can be created only in a file
        return f"{empty[1]} is null in this config; set it in the file of the experiment"
    # such an interpolation can be in a defaults list, where it selects an option
    looked_up = [word for word in words if "${" in word and "interpolation" in line.lower()]
    given = ", ".join(looked_up) or _blamed(words)
    if obstructed := _explain_key(given, words):
        return obstructed
    key = given.partition("=")[0]
    message = (explain_interpolation(error) or "it cannot be used").partition(", possible")[0]
    if "Config group override must be" in line:  # such as logger=null
        instead = "`ablate options` lists all options"
        instead = f"set {key}=none" if "none" in options_of(key) else instead
        message = f"an option must be a string; {instead}"
    return f"{given}: {message}" if given else message


def _blamed(words: Sequence[str]) -> str:
    """Return the override that prevents the config from being composed.

    This is the last override for which the config can be composed if all overrides of its key are
    left out. For `logger=none logger.project=x` it is the second override, because it sets a key
    that the first override removes. If there is no such override, several overrides are invalid,
    and the first that cannot be composed alone is returned; else "".
    """
    for word in reversed(words):
        key = word.partition("=")[0]
        if _composes([other for other in words if other.partition("=")[0] != key]):
            return word
    return next((word for word in words if not _composes([word])), "")


def _composes(words: list[str]) -> bool:
    return _composed(words) is not None


def _composed(words: list[str]) -> DictConfig | None:
    """Return the config of a command, without the values that a sweep varies; None if it cannot be
    composed.
    """
    loader: Any = GlobalHydra.instance().config_loader()
    try:
        config: DictConfig = loader.load_configuration("config", words, RunMode.MULTIRUN)
    except Exception:  # its parsers raise many types
        return None
    return config
