"""Options, child processes and errors of the commands in lab.bench."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra.errors
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ablate.config.explain import explain
from ablate.errors import UserError

# set by a user or not, they must not speed up one side of a comparison
TUNING = ("MALLOC_", "OMP_", "MKL_", "KMP_", "ONEDNN_", "GLIBC_TUNABLES")


def exit_on_user_error(main: Callable[[], None]) -> Callable[[], None]:
    """Decorate a command: a UserError becomes one sentence on stderr and exit status 2."""

    @functools.wraps(main)
    def command() -> None:
        try:
            main()
        except UserError as error:
            sys.exit(_complain(str(error)))
        except (hydra.errors.HydraException, OmegaConfBaseException) as error:
            sys.exit(_complain(explain(error)))

    return command


def options(
    arguments: Sequence[str], defaults: Mapping[str, Any], choices: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the options among the arguments, and the overrides of `ablate`, which are the rest.

    Args:
        arguments: key=value each.
        defaults: every option with its value; a number must be given as one, at least 1 where
            it is a whole number and above 0 otherwise. None leaves the type open.
        choices: what `what` may hold; a single name stands for a list of one.

    Raises:
        UserError: an argument is no key=value, or an option has a value that is not possible.
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
    """Return the environment of a measured process: this one's without tuning, and `more`."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith(TUNING)}
    return {**plain, "OMP_NUM_THREADS": str(threads), **more}


def start(
    command: Sequence[str],
    env: dict[str, str],
    python: str = sys.executable,
    folder: Path | None = None,
) -> Any:
    """Start a Python process in a folder, with pipes as its stdin and stdout."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([python, *command], env=env, cwd=folder, encoding="utf-8", **pipes)


def finish(process: Any) -> dict[str, Any]:
    """Wait for a process, and return the JSON of its last line of output.

    Raises:
        UserError: the process has failed; what was wrong stands above on stderr.
    """
    output, _ = process.communicate()
    if process.returncode or not output.strip():
        raise UserError(
            f"{' '.join(process.args[1:4])} ended with status {process.returncode} and no figure."
        )
    figures: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return figures


def run(
    command: Sequence[str],
    env: dict[str, str],
    python: str = sys.executable,
    folder: Path | None = None,
) -> Any:
    """Run a Python process in a folder and return the JSON of its last line of output."""
    return finish(start(command, env, python, folder))


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


def _complain(sentence: str) -> int:
    print(f"bench: {sentence}", file=sys.stderr)
    return 2
