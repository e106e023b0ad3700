"""The program `ablate`: overrides (`key=value`) train a model; a first word without "=" names a
command.

Characters that cannot be encoded are printed as escapes.
"""

import gc
import io
import os
import pkgutil
import sys
from importlib import import_module

from ablate import __version__
from ablate.cli import commands
from ablate.cli.parser import Parser, exit_statuses, no_such
from ablate.config import leave_current_folder, option_file, search_current_folder
from ablate.errors import UserError

USAGE = "ablate [key=value ...] [-m]\n       ablate COMMAND [argument ...]"
DESCRIPTION = """\
Executable claims about the Transformer. `python -m ablate` is the same command.

  ablate                                  train one model on the built-in corpus
  ablate +experiment=preln_vs_postln -m   test a claim: all arms and seeds, a verdict
  ablate data=multi30k model=tiny model/position=learned
  ablate --cfg job                        the whole config; for Hydra's other flags --hydra-help
  ablate options                          every group and option that an override can choose
"""
# new objects between two garbage collections; Python's 700 take a tenth of the time of imports
COLLECTED = 100_000
STATUSES = "exit status: 0 done or diverged, 1 failed, 2 wrong input, 130 Ctrl-C, 143 SIGTERM"


def main() -> None:
    """Run the command of the command line, and exit with one of the statuses in `STATUSES`."""
    gc.set_threshold(COLLECTED)
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
    return f"{no_such('command', word, names())}; training takes key=value alone, without spaces"


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
