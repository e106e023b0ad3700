"""The program `ablate`: overrides (`key=value`) train a model; a first word without "=" names a
command.

Characters that cannot be encoded are printed as escapes. Errors become exit statuses.
"""

import io
import os
import pkgutil
import sys
from bdb import BdbQuit
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from ablate import __version__
from ablate.cli import commands
from ablate.cli.parser import Parser, unknown
from ablate.config.location import (
    groups,
    leave_current_folder,
    option_file,
    option_files,
    search_current_folder,
)
from ablate.errors import UserError, suggestion

USAGE = "ablate [key=value ...] [-m]\n       ablate COMMAND [argument ...]"
DESCRIPTION = """\
Executable claims about the Transformer. `python -m ablate` is the same command.

  ablate                                  train one model on the built-in corpus
  ablate +experiment=preln_vs_postln -m   test a claim: all arms and seeds, a verdict
  ablate data=multi30k model=tiny model/position=learned
  ablate --cfg job                        the whole config; for Hydra's other flags --hydra-help
  ablate options                          every group and option that an override can choose
"""
STATUSES = "exit status: 0 done, 1 the work failed, 2 the input is wrong, 130 Ctrl-C, 143 SIGTERM"

# Hydra's variable; `ablate.cli.train` sets it, so its value is read before
FULL_ERROR = "HYDRA_FULL_ERROR"
WITH_TRACEBACK = os.environ.get(FULL_ERROR) == "1"
# packages whose error messages are printed without a traceback
LIBRARIES = (
    *("hydra", "omegaconf", "antlr4", "yaml", "pydantic", "pydantic_core"),
    *("pytorch_lightning", "lightning_fabric", "ray", "submitit", "datasets", "huggingface_hub"),
)


def main() -> None:
    """Run the command of the command line, and exit with one of the statuses in `STATUSES`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    leave_current_folder()
    first, *rest = sys.argv[1:] or [""]
    with exit_statuses(f"ablate {first}" if first in names() else "ablate"):
        _run(first, rest)
        sys.stdout.flush()


def _run(first: str, rest: list[str]) -> None:
    """Run a command, or train if the first word is an override or a flag."""
    if sys.argv[1:] in (["-h"], ["--help"], ["--version"]):
        _about().read(sys.argv[1:])
        return
    if first in names():
        run_command(f"ablate {first}", f"{commands.__name__}.{first}", rest)
        return
    if first and "=" not in first and not first.startswith(("-", "~")):
        raise UserError(_no_command(first))
    from ablate.cli.train import train  # imports Hydra

    search_current_folder()
    train()


def run_command(prog: str, module: str, words: list[str]) -> None:
    """Run a command: parse `words` with the module's `add_arguments`, and call the module's `run`.

    Args:
        prog: name of the program for messages, such as "ablate plan".
        module: full name of the command's module.
        words: arguments after the name of the command.

    Raises:
        UserError: the arguments are wrong, or the command cannot do its work.
    """
    command = import_module(module)
    parser = Parser(prog, command.__doc__ or "")
    command.add_arguments(parser)
    arguments = parser.read(words)
    if parser.takes_overrides or getattr(arguments, "trust", []):
        search_current_folder()
    if sys.stderr.isatty() and (first := getattr(command, "FIRST", "")):
        print(f"{prog}: {first}", file=sys.stderr, flush=True)  # before the slow imports of `run`
    try:
        command.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _no_command(word: str) -> str:
    """Return an error message for a first word that is neither a command nor an override.

    If the word is the name of an experiment, the message has the command that runs it.
    """
    if option_file("experiment", word):
        return f"{word} is an experiment: run ablate +experiment={word} -m"
    return f"{unknown('command', word, names())}; training takes key=value alone, without spaces"


def names() -> list[str]:
    """Return the names of all commands."""
    return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))


def _about() -> Parser:
    """Return the parser of `ablate` without a command, which handles --help and --version."""
    parser = Parser("ablate", DESCRIPTION, usage=USAGE)
    parser.add_argument("--version", action="version", version=f"ablate {__version__}")
    lines = ["commands (ablate COMMAND --help shows the arguments and an example):"]
    for name in names():
        about = import_module(f"{commands.__name__}.{name}").__doc__ or ""
        lines.append(f"  {name:10} {about.partition(chr(10))[0]}")
    parser.epilog = "\n".join([*lines, "", STATUSES])
    return parser


@contextmanager
def exit_statuses(prog: str) -> Iterator[None]:
    """Turn errors of a `with` block into exit statuses; print the message of a UserError, of an
    error of one of the LIBRARIES, and of an OSError such as a full disk, after `prog`.
    """
    try:
        yield
    except (KeyboardInterrupt, BdbQuit):  # Ctrl-C, or the user has left the debugger
        sys.exit(130)
    except Exception as error:
        if isinstance(error, UserError):
            print(f"{prog}: {error}", file=sys.stderr)
            sys.exit(2)
        if WITH_TRACEBACK or not (isinstance(error, OSError) or _is_of_library(error)):
            raise error from error.__cause__
        print(f"{prog}: {_message(error)}", file=sys.stderr)
        print(f"{FULL_ERROR}=1 before the command shows the traceback", file=sys.stderr)
        sys.exit(2)


def _is_of_library(error: BaseException) -> bool:
    """Return whether the class of an error, or the function that raised the error, is defined in
    one of the LIBRARIES.
    """
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    raised_in = frame.tb_frame.f_globals.get("__name__", "") if frame else ""
    names = (type(error).__module__, str(raised_in))
    return any(name.partition(".")[0] in LIBRARIES for name in names)


def _message(error: BaseException) -> str:
    """Return the message of a library's error and of its cause, and a similar key or option."""
    from hydra.errors import MissingConfigException
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError

    text = str(error).strip() or type(error).__name__
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        # the next paragraphs list all options, and all folders with configs
        group, _, option = str(error.missing_cfg_file).lstrip("/").rpartition("/")
        options = option_files(group)
        hint = suggestion(option, [*(error.options or options)])
        if group and options:
            hint += f"`ablate options {group}` lists all options; options of your own need "
            hint += "--config-dir FOLDER"
        return f"{text.partition(chr(10))[0]}\n{hint}".strip()
    if error.__cause__:
        text = f"{text}\n{error.__cause__}".strip()
    unknown = error.__cause__ or error.__context__
    if not isinstance(unknown, ConfigAttributeError | ConfigKeyError):
        return text
    names = [*map(str, unknown.parent_node or ()), *groups()]
    return f"{text}\n{suggestion(str(unknown.key), names)}".strip()
