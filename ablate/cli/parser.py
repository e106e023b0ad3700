"""Parse `key=value` arguments, and report each error as one sentence."""

import argparse
import math
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any, NoReturn

from ablate.errors import UserError, suggestion

KEY = re.compile(r"[a-z][\w.]*(?==)")


@dataclass(frozen=True)
class Kind:
    """The type of an argument's value.

    Args:
        example: placeholder for a value in the help, such as NUMBER.
        allowed: phrase for error messages, such as "a whole number".
        convert: function that parses the text, and raises ValueError if the text is invalid.
    """

    example: str
    allowed: str
    convert: Callable[[str], Any]


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError
    return float(text)


def _existing(text: str) -> Path:
    path = Path(text).expanduser()  # a shell does not expand the ~ in `--to=~/runs`
    if not path.is_dir():
        raise ValueError
    return path


def whole(least: int, most: int | None = None) -> Kind:
    """Return the argument type for whole numbers of at least `least`, and of at most `most`."""

    def convert(text: str) -> int:
        number = int(text)
        if number < least or (most is not None and number > most):
            raise ValueError
        return number

    limit = "" if most is None else f" and at most {most}"
    return Kind("NUMBER", f"a whole number, at least {least}{limit}", convert)


def one_of(*words: str) -> Kind:
    """Return an argument type that accepts only the given words."""

    def convert(text: str) -> str:
        if text not in words:
            raise ValueError
        return text

    return Kind("WORD", " or ".join(words), convert)


def several(kind: Kind) -> Kind:
    """Return the argument type for comma-separated values of type `kind`; the list may be in
    brackets, as in an override.
    """

    def convert(text: str) -> list[Any]:
        return [kind.convert(part.strip()) for part in text.strip("[]").split(",")]

    return Kind(f"{kind.example},...", f"{kind.allowed}, or several with commas between", convert)


TEXT = Kind("TEXT", "text", str)
NUMBER = Kind("NUMBER", "a number", _finite)
PATH = Kind("PATH", "a path", lambda text: Path(text).expanduser())
FOLDER = Kind("FOLDER", "a folder that exists", _existing)


@dataclass(frozen=True)
class _Key:
    help: str
    kind: Kind
    default: Any
    required: bool


class Parser(argparse.ArgumentParser):
    """A command-line parser for `key=value` arguments and for arguments of argparse, in any
    order.
    """

    def __init__(self, prog: str, description: str, usage: str | None = None) -> None:
        self.options: set[str] = set()
        self.taking: set[str] = set()  # options whose value is the next word
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.keys: dict[str, _Key] = {}
        self.takes_overrides = False
        self.takes_flags = False  # of Hydra; they become a part of the overrides

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Declare an argument as `argparse.ArgumentParser.add_argument` does."""
        action = super().add_argument(*names, **settings)
        self.options |= {*action.option_strings}
        self.taking |= {name for name in action.option_strings if action.nargs is None}
        return action

    def add_option(self, name: str, about: str, kind: Kind = TEXT, *short: str) -> None:
        """Declare an option `--name VALUE`, with its short forms."""
        metavar = name.rpartition("-")[2].upper()
        convert = _checked(name, kind)
        self.add_argument(f"--{name}", *short, help=about, metavar=metavar, type=convert)

    def add_key(
        self, name: str, help: str, kind: Kind = TEXT, default: Any = None, required: bool = False
    ) -> None:
        """Declare an argument `name=value`.

        A name that ends in a dot, such as `search.`, accepts all keys with this prefix. Their
        values become a dictionary.
        """
        if not self.keys:  # only shown in the help; `read` removes the pairs before argparse parses
            self.add_argument("rest", nargs="*", default=[], metavar="key=value", help="see keys")
        self.keys[name] = _Key(help, kind, default, required)
        self.epilog = "\n".join(["keys:", *starmap(_line, self.keys.items())])

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
        pairs, overrides, rest = self._split(words)
        for pair in pairs:
            self._check(pair.partition("=")[0])
        namespace, extra = self.parse_known_args(rest)
        if extra := [*getattr(namespace, "rest", []), *extra]:
            raise UserError(self._unknown(extra[0]))
        for name, key in self.keys.items():
            setattr(namespace, name.rstrip("."), {} if name.endswith(".") else key.default)
        namespace.overrides = overrides
        for pair in pairs:
            self._set(namespace, *pair.split("=", 1))
        for name, key in self.keys.items():
            if key.required and getattr(namespace, name) is None:
                raise UserError(f"{name}= is missing: {key.help}")
        return namespace

    def _is_pair(self, word: str) -> bool:
        """Return whether a word is an argument `name=value`.

        After the prefix of a group of keys, such as `where.`, a name may contain any character.
        """
        groups = tuple(name for name in self.keys if name.endswith("."))
        return bool(KEY.match(word)) or ("=" in word and word.startswith(groups))

    def _split(self, words: list[str]) -> tuple[list[str], list[str], list[str]]:
        """Split the words of a command line into pairs `name=value` of this command, overrides of
        the config, and words for argparse.
        """
        pairs: list[str] = []
        overrides: list[str] = []
        rest: list[str] = []
        for before, word in pairwise(["", *words]):
            name, equals, _ = word.partition("=")
            is_override = word.startswith("~") or (equals and not word.startswith("-"))
            if before in self.taking or name in self.options:
                rest.append(word)  # an option, or a value such as a.csv in `--source a.csv`
            elif name in self.keys or not self.takes_overrides:
                (pairs if self._is_pair(word) else rest).append(word)
            else:
                (overrides if is_override or self.takes_flags else rest).append(word)
        return pairs, overrides, rest

    def _check(self, name: str) -> None:
        group, dot, rest = name.partition(".")
        if f"{group}{dot}" not in self.keys or (dot and not rest):
            raise UserError(self._unknown(f"{name}="))

    def _unknown(self, given: str) -> str:
        more = "; an override is key=value, or +key=value" if self.takes_overrides else ""
        return unknown("argument", given, map(_shown, self.keys)) + more

    def _set(self, namespace: argparse.Namespace, name: str, text: str) -> None:
        group, dot, rest = name.partition(".")
        key = self.keys[f"{group}{dot}"]
        if not text:
            raise UserError(f"{name}= has no value: it must be {key.kind.allowed}")
        try:
            value = key.kind.convert(text)
        except ValueError:
            raise UserError(f"{name}={text}: it must be {key.kind.allowed}") from None
        if dot:
            getattr(namespace, group)[rest] = value
        else:
            setattr(namespace, name, value)

    def error(self, message: str) -> NoReturn:
        """Raise a UserError with argparse's message, instead of printing it and exiting."""
        raise UserError(message)


def _checked(name: str, kind: Kind) -> Callable[[str], Any]:
    """Return the function that converts the value of an option `--name`."""

    def convert(text: str) -> Any:
        try:
            return kind.convert(text)
        except ValueError:
            raise UserError(f"--{name} {text}: it must be {kind.allowed}") from None

    return convert


def _line(name: str, key: _Key) -> str:
    """Return the help on an argument `name=value`, wrapped to lines of 98 characters."""
    left = f"  {_shown(name)}{key.kind.example}"
    allowed = "" if key.kind in (TEXT, PATH) else f"; {key.kind.allowed}"
    values = key.default if isinstance(key.default, list) else [key.default]
    default = ",".join(str(value) for value in values if value is not None)
    description = f"{key.help}{allowed}{f' (default: {default})' if default else ''}"
    return textwrap.fill(description, 98, initial_indent=f"{left:23}", subsequent_indent=" " * 23)


def _shown(name: str) -> str:
    return f"{name}KEY=" if name.endswith(".") else f"{name}="


def unknown(kind: str, given: str, allowed: Iterable[str]) -> str:
    """Return an error message about an argument that does not exist; suggest the most similar
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
