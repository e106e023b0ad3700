"""Read the options of the commands in lab.bench, run child processes, and report errors."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from omegaconf import OmegaConf

from ablate.cli.parser import exit_statuses
from ablate.errors import UserError

# prefixes of environment variables that are removed, because they could speed up only one side
TUNING = ("MALLOC_", "OMP_", "MKL_", "KMP_", "ONEDNN_", "GLIBC_TUNABLES")


def exit_on_user_error(main: Callable[[], None]) -> Callable[[], None]:
    """Return a command that prints errors of the user on stderr, without a traceback; the exit
    status is then 2.
    """

    @functools.wraps(main)
    def command() -> None:
        with exit_statuses("bench"):
            main()

    return command


def options(
    arguments: Sequence[str], defaults: Mapping[str, Any], choices: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of all options, and all other arguments, which are overrides of `ablate`.

    Args:
        arguments: arguments of the form key=value.
        defaults: the default of every option, including `what`. If a default is a whole number,
            the value must be a whole number of at least 1. If it is another number, the value must
            be a number above 0. If it is None, any value is allowed.
        choices: allowed names in the option `what`, which is a list of names or a single name.

    Raises:
        UserError: an argument does not have the form key=value, or an option has a wrong value.
    """
    for argument in arguments:
        if "=" not in argument:
            raise UserError(f"{argument!r} is not an option; an option is key=value.")
    own_options = [argument for argument in arguments if argument.split("=")[0] in defaults]
    rest = [argument for argument in arguments if argument not in own_options]
    given: Any = OmegaConf.to_container(OmegaConf.from_dotlist(own_options))
    values = {**defaults, **given}
    for key, default in defaults.items():
        if isinstance(default, int | float):
            _check_number(key, values[key], default)
    values["what"] = _chosen(values["what"], choices)
    return values, rest


def environment(threads: int, **more: str) -> dict[str, str]:
    """Return the environment variables of a measured process.

    They are those of this process without TUNING, OMP_NUM_THREADS, and the variables in `more`.
    """
    plain = {key: value for key, value in os.environ.items() if not key.startswith(TUNING)}
    return {**plain, "OMP_NUM_THREADS": str(threads), **more}


def start(command: Sequence[str], env: dict[str, str]) -> Any:
    """Start a Python process with pipes as its stdin and stdout, and return its Popen object.

    Args:
        command: arguments of the interpreter.
        env: environment variables.
    """
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, *command], env=env, encoding="utf-8", **pipes)


def finish(process: Any) -> dict[str, Any]:
    """Wait for a process to end, and return its last line of output, parsed as JSON.

    Raises:
        UserError: the process has failed or printed nothing; its own error message is on stderr.
    """
    output, _ = process.communicate()
    if process.returncode or not output.strip():
        raise UserError(
            f"{' '.join(process.args[1:4])} ended with status {process.returncode} and no figure."
        )
    figures: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return figures


def run(command: Sequence[str], env: dict[str, str]) -> Any:
    """Run a Python process, and return its last line of output, parsed as JSON.

    The arguments are those of `start`.

    Raises:
        UserError: the process has failed or printed nothing.
    """
    return finish(start(command, env))


def _check_number(key: str, value: Any, default: float) -> None:
    whole = isinstance(default, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise UserError(f"{key}={value} is not a {'whole ' if whole else ''}number.")
    if value < 1 if whole else value <= 0:
        raise UserError(f"{key}={value}: it must be {'at least 1' if whole else 'above 0'}.")


def _chosen(what: Any, choices: Sequence[str]) -> list[str]:
    names = what if isinstance(what, list) else [what]
    for name in names:
        if name not in choices:
            raise UserError(f"what={name}: there is no such row; allowed is {', '.join(choices)}.")
    return [name for name in choices if name in names]
