"""Reject features of Hydra that ablate replaces, and name the replacement."""

import argparse
import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.types import Glob, Override

from ablate.config.location import CONF
from ablate.config.screen import FACTOR
from ablate.config.smoke import fitted
from ablate.errors import UserError

LAUNCHER = "hydra_plugins.ablate_launcher.launcher.AblateLauncher"
# other launchers, and the setting that replaces each
ENGINES = {
    "basic": "n_jobs=1",
    "joblib": "n_jobs=N",
    "rq": "the same command on every machine",
    "submitit": "engine=submitit",
    "ray": "engine=ray",
}
MODES = {
    "run": "--run",
    "multirun": "-m",
    "cfg": "--cfg",
    "info": "--info",
    "shell_completion": "--shell-completion",
}
LISTED = ("logger", "callbacks", "metric")  # groups of which a run may have several options
SWEEPER = ("hydra/sweeper", "hydra.sweeper", "hydra.sweeper._target_")
FOLDERS = {"hydra.run.dir": ".", "hydra.job.chdir": "false", "hydra.output_subdir": "null"}
HOME = re.compile(r"""(?<=[=\[,'"])~(?=/|$|[\]'",])""")  # at the start of a value


def read_words(words: Sequence[str]) -> argparse.Namespace:
    """Return Hydra's flags in the words of a command line, and all overrides as the value
    `overrides`.

    In a value, ~ is replaced by the home folder. scale=smoke becomes the smoke test that fits the
    experiment.

    Raises:
        UserError: a flag does not exist, flags exclude each other or lack their value, or an
            override would change the folders of runs.
    """
    words = _expand_home(fitted(words))
    _check_words(words)
    parser = get_args_parser()
    parser.error = _refuse  # type: ignore[method-assign]
    given, after_flags = parser.parse_known_args(words)
    given.overrides += after_flags
    modes = [flag for name, flag in MODES.items() if getattr(given, name)]
    if len(modes) > 1:
        raise UserError(f"{' and '.join(modes)} exclude each other: leave out all but one of them")
    given.words = words
    return given


def _expand_home(words: Sequence[str]) -> list[str]:
    """Return the overrides with ~ at the start of a value replaced by the home folder.

    A shell does not do this after an equals sign.
    """
    home = str(Path.home())
    return [HOME.sub(lambda _: home, word) for word in words]


def _refuse(message: str) -> NoReturn:
    raise UserError(f"Hydra's flags: {message}")


def _check_words(words: Sequence[str]) -> None:
    """Raise UserError for an unknown flag, or for an override that would change the folders of
    runs.
    """
    for word in words:
        _check_flag(word)
        key, equals, value = word.lstrip("+").partition("=")
        if not key.strip("~") and (equals or word):
            raise UserError(f"{word} has no key: an override is key=value, or +key=value")
        group = key.partition("@")[0]
        if value.startswith("[") and group not in LISTED and (CONF / group).is_dir():
            raise UserError(
                f"{word}: give one option of {key}, without brackets; only {', '.join(LISTED)} "
                "take a list"
            )
        value = value.strip("'\"")  # Lightning quotes the folder of the processes that it starts
        if key in FOLDERS and value.lower() != FOLDERS[key]:
            raise UserError(
                f"{word}: cannot be set, because the folder of a run is named by its identity; "
                "set paths.results=FOLDER for another location"
            )
        if key == "hydra/launcher" and value != "ablate":
            raise refusal(word, value)
        if key in SWEEPER and value != "ablate":
            raise UserError(
                f"{word}: this sweeper supports neither variants nor tuning; leave out {word}"
            )


def _check_flag(word: str) -> None:
    """Raise UserError for a flag that is not written in full; argparse would accept an
    abbreviation.
    """
    name, _, value = word.partition("=")
    flags = re.findall(r"--[a-z][\w-]*", get_args_parser().format_usage())
    if not name.startswith("--") or name in flags:
        return
    near = difflib.get_close_matches(name, flags, n=1, cutoff=0.8)
    plus = "+" if name == "--experiment" else ""
    hint = near[0] if near and not value else f"{plus}{name[2:]}={value or 'VALUE'}"
    raise UserError(f"unknown flag {name}: did you mean {hint}? keys have no dashes")


def check_sweep(override: Override) -> None:
    """Raise UserError for an override that a sweep does not support: an interval, several
    experiments, or a glob that Hydra does not expand.

    Hydra reads the arms and seeds of an experiment before it chooses from a list of experiments.
    """
    key, word = override.key_or_group, override.input_line
    if override.is_interval_sweep():
        raise UserError(f"{word}: an interval has no list of values; give {key}=VALUE,VALUE")
    value: Any = override.value()
    listed = any(isinstance(each, Glob) for each in getattr(value, "list", []))
    if listed or (isinstance(value, Glob) and key == FACTOR):
        raise UserError(
            f"{word}: glob(...) can only be the single value of a config group; give "
            f"{key}=VALUE,VALUE without glob(...)"
        )
    if key == "experiment" and override.is_sweep_override():
        raise UserError(
            f"{word}: a sweep can run only one experiment, because experiments differ in their "
            "arms and seeds; start a sweep for each experiment"
        )


def check_launcher(target: str) -> None:
    """Raise UserError if `target` is not the launcher class of ablate."""
    if target != LAUNCHER:
        raise refusal(f"hydra.launcher._target_={target}", target.lower())


def refusal(given: str, kind: str) -> UserError:
    """Return the error about a launcher that ablate does not support, and the setting that replaces
    the launcher.

    Args:
        given: the override or class that selects the launcher.
        kind: name of the launcher.
    """
    instead = next((words for name, words in ENGINES.items() if name in kind), "engine=submitit")
    return UserError(
        f"{given}: other launchers do not support shared data, interim analyses and resuming after "
        f"a crash; use {instead}"
    )
