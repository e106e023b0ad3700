"""Parse `key=value` arguments beside those of argparse, raise each error as one sentence, and turn
errors into exit statuses.
"""

import argparse
import math
import os
import re
import sys
from bdb import BdbQuit
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from traceback import walk_tb
from typing import Any, NamedTuple, NoReturn

from ablate.config import groups, leaves, option_files
from ablate.errors import UserError, suggestion

PAIR = re.compile(r"[a-z][\w.]*=")
USAGE = {None: "{}", "?": "[{}]", "*": "[{} ...]", "+": "{} [...]"}  # by number of arguments
# Hydra's variable; `ablate.cli.train` sets it, so its value is read before
FULL_ERROR = "HYDRA_FULL_ERROR"
WITH_TRACEBACK = os.environ.get(FULL_ERROR) == "1"
# packages whose error messages are printed without a traceback
LIBRARIES = (
    *("hydra", "omegaconf", "antlr4", "yaml", "pydantic", "pydantic_core", "sacrebleu"),
    *("pytorch_lightning", "lightning_fabric", "ray", "submitit", "datasets", "huggingface_hub"),
)


class Kind(NamedTuple):
    """The type of an argument's value.

    Args:
        example: placeholder for a value in the help, such as NUMBER.
        allowed: phrase for error messages, such as "a whole number".
        convert: function that parses the text, and raises ValueError if the text is invalid.
        allows: function that returns whether a value is allowed.
    """

    example: str
    allowed: str
    convert: Callable[[str], Any]
    allows: Callable[[Any], bool] = lambda value: True

    def read(self, text: str) -> Any:
        """Return the value of a text, as argparse asks for it."""
        with suppress(ValueError):
            if self.allows(value := self.convert(text)):
                return value
        raise argparse.ArgumentTypeError(f"{text}: it must be {self.allowed}")


def whole(least: int, most: float = math.inf) -> Kind:
    """Return the argument type for whole numbers of at least `least`, and of at most `most`."""
    limit = "" if most == math.inf else f" and at most {most}"
    allowed = f"a whole number, at least {least}{limit}"
    return Kind("NUMBER", allowed, int, lambda number: least <= number <= most)


def one_of(*words: str) -> Kind:
    """Return an argument type that accepts only the given words."""
    return Kind("WORD", " or ".join(words), str, words.__contains__)


def several(kind: Kind) -> Kind:
    """Return the argument type for comma-separated values of type `kind`; the list may be in
    brackets, as in an override.
    """

    def convert(text: str) -> list[Any]:
        return [kind.convert(part.strip()) for part in text.strip("[]").split(",")]

    def allows(values: list[Any]) -> bool:
        return all(map(kind.allows, values))

    allowed = f"{kind.allowed}, or several with commas between"
    return Kind(f"{kind.example},...", allowed, convert, allows)


def _path(text: str) -> Path:
    return Path(text).expanduser()  # a shell does not expand the ~ in `--to=~/runs`


TEXT = Kind("TEXT", "text", str)
NUMBER = Kind("NUMBER", "a number", float, math.isfinite)
PATH = Kind("PATH", "a path", _path)
FOLDER = Kind("FOLDER", "a folder that exists", _path, Path.is_dir)


class Parser(argparse.ArgumentParser):
    """A command-line parser for `key=value` arguments and for arguments of argparse, in any
    order.
    """

    def __init__(self, prog: str, description: str, usage: str | None = None) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.keys: dict[str, argparse.Action] = {}
        self.takes_overrides = False
        self.takes_flags = False  # of Hydra; they become a part of the overrides

    def add_option(self, name: str, about: str, kind: Kind = TEXT, *short: str) -> None:
        """Declare an option `--name VALUE`, with its short forms."""
        metavar = name.rpartition("-")[2].upper()
        self.add_argument(f"--{name}", *short, help=about, metavar=metavar, type=kind.read)

    def add_key(
        self, name: str, help: str, kind: Kind = TEXT, default: Any = None, required: bool = False
    ) -> None:
        """Declare an argument `name=value`.

        A name that ends in a dot, such as `search.`, accepts all keys with this prefix. Their
        values become a dictionary.
        """
        allowed = "" if kind.example in ("TEXT", "PATH") else f"; {kind.allowed}"
        values = default if isinstance(default, list) else [default]
        usual = ",".join(str(value) for value in values if value is not None)
        about = f"{help}{allowed}{f' (default: {usual})' if usual else ''}".replace("%", "%%")
        settings: dict[str, Any] = {"help": about, "metavar": "", "required": required}
        if name.endswith("."):

            def pair(text: str) -> tuple[str, Any]:
                key, _, value = text.partition("=")
                return key, kind.read(value)

            settings |= {"type": pair, "action": "append", "default": [], "dest": name[:-1]}
        else:
            settings |= {"type": kind.read, "default": default}
        action = self.add_argument(f"--{name}", **settings)
        action.option_strings = [f"{_shown(name)}{kind.example}"]  # in the help and in errors
        self.keys[name] = action

    def add_keys_of_run(self) -> None:
        """Declare the arguments that name a finished run, its trusted packages, the device and the
        threads.
        """
        about = "folder of a finished run: results/runs/..."
        self.add_key("checkpoint", about, PATH, required=True)
        self.add_key("threads", "CPU threads; default: those of the run", whole(1))
        self.add_key("device", "cpu, cuda, cuda:1, ...; default: as the run")
        about = (
            "packages of your own whose components the run's config may name, or full names of "
            "classes; their code will run"
        )
        self.add_key("trust", about, several(TEXT), [])

    def read(self, words: list[str]) -> argparse.Namespace:
        """Return the values of all arguments; --help and --version print their text and exit.

        Raises:
            UserError: an argument is unknown or missing, or its value is not allowed.
        """
        arguments, overrides = list[str](), list[str]()
        for before, word in pairwise(["", *words]):
            if (argument := self._argument(word, before)) is None:
                overrides.append(word)
            else:
                arguments.append(argument)
        namespace, extra = self.parse_known_args(arguments)
        if extra:
            raise UserError(self._unknown(extra[0]))
        for group in (name[:-1] for name in self.keys if name.endswith(".")):
            setattr(namespace, group, dict(getattr(namespace, group)))
        namespace.overrides = overrides
        return namespace

    def _argument(self, word: str, before: str) -> str | None:
        """Return a word as argparse reads it: key=value as --key=value; None for an override.

        Args:
            word: the word.
            before: the word before it, which may be an option that takes a value.

        Raises:
            UserError: a key has no value, or is unknown.
        """
        name, equals, value = word.partition("=")
        group = f"{name.partition('.')[0]}."
        key = name if name in self.keys else group
        option = self._option_string_actions.get(before)
        if name in self._option_string_actions or (option and option.nargs is None):
            return word  # an option, or a value such as a=b.csv in `--source a=b.csv`
        if equals and key in self.keys and name != group:
            if not value:
                raise UserError(f"{name}= has no value")
            return f"--{word}" if key == name else f"--{key}={word.removeprefix(key)}"
        is_override = word.startswith("~") or (equals and not word.startswith("-"))
        if self.takes_flags or (self.takes_overrides and is_override):
            return None
        if PAIR.match(word):
            raise UserError(self._unknown(f"{name}="))
        return word

    def _unknown(self, given: str) -> str:
        more = "; an override is key=value, or +key=value" if self.takes_overrides else ""
        return no_such("argument", given, map(_shown, self.keys)) + more

    def format_help(self) -> str:
        """Return the help, with a usage that fits in a line."""
        places = (action for action in self._actions if not action.option_strings)
        words = [USAGE[place.nargs].format(place.metavar) for place in places]  # type: ignore[index]
        self.usage = self.usage or " ".join([self.prog, *words, "[argument ...]"])
        return re.sub(r" +$", "", super().format_help(), flags=re.MULTILINE)

    def error(self, message: str) -> NoReturn:
        """Raise the message as UserError, instead of printing it and exiting."""
        raise UserError(message)


def _shown(name: str) -> str:
    return f"{name}KEY=" if name.endswith(".") else f"{name}="


def no_such(kind: str, given: str, allowed: Iterable[str]) -> str:
    """Return the error message about a name that does not exist; it suggests the most similar
    allowed name.

    Args:
        kind: noun for the message, such as "argument" or "command".
        given: the unknown name.
        allowed: all allowed names.
    """
    names = list(allowed)
    hint = suggestion(given.lstrip("-"), names)
    here = f"{hint}allowed here is {', '.join(names)}" if names else "no argument is taken here"
    return f"unknown {kind} {given}: {here}"


@contextmanager
def exit_statuses(prog: str) -> Iterator[None]:
    """Turn errors of a `with` block into exit statuses; print the message of a UserError, of an
    error of one of the LIBRARIES, and of an OSError such as a full disk, after `prog`.
    """
    try:
        yield
    except (KeyboardInterrupt, BdbQuit):  # Ctrl-C, or the user has left the debugger
        print(f"{prog}: interrupted; repeat the command to continue a sweep", file=sys.stderr)
        sys.exit(130)
    except UserError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if WITH_TRACEBACK or not (isinstance(error, OSError) or _is_of_library(error)):
            raise
        print(f"{prog}: {_message(error)}", file=sys.stderr)
        print(f"{FULL_ERROR}=1 before the command shows the traceback", file=sys.stderr)
        sys.exit(2)


def _is_of_library(error: BaseException) -> bool:
    """Return whether the class of an error, or the function that raised the error, is defined in
    one of the LIBRARIES.
    """
    *_, (frame, _) = walk_tb(error.__traceback__)
    names = (type(error).__module__, str(frame.f_globals.get("__name__", "")))
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
    node = unknown.parent_node
    keys = [] if node is None else [*map(str, node), *leaves(node._get_root())]
    names = [name for name in (*groups(), *keys) if not name.startswith("hydra")]
    return f"{suggestion(str(unknown.key), names).rstrip()}\n{text}".strip()
