"""Check that evidence in files has the form of its declarations (ablate.evidence.types)."""

import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from ablate.errors import UserError
from ablate.evidence.outcome import STATUSES
from ablate.evidence.types import Run
from ablate.record.label import key

NUMBER = (int, float)
LARGEST = 1 << 30  # bytes of a file of runs after unpacking; evidence may come from strangers
WORDS = {
    str: "text",
    int: "a whole number",
    NUMBER: "a finite number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    object: "there",
    NoneType: "null",
}
# types of values that are read from JSON, by type in an annotation
READ: dict[Any, Any] = {float: NUMBER, Any: object, tuple: list, Mapping: dict}
KEYS = re.compile(r": [\w.]+$")  # the end of a description that names keys of an object


def read_runs(path: Path, factors: list[str]) -> list[Run]:
    """Return the runs in a file, one per line.

    Args:
        path: the file; with the ending .gz, it is compressed.
        factors: factors for which every run must have a level.

    Raises:
        UserError: the file is missing or damaged, a line is not a run, or two runs have the same
            number (`cell`), or the same arm, seed and tuned value.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes")
        lines = content.decode().splitlines()
    except FileNotFoundError:
        raise UserError(f"{path} is missing: this is not the folder of a study") from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    runs = [_parsed(f"{path}, line {number}", line) for number, line in enumerate(lines, 1)]
    if any(isinstance(run, dict) and "versions" not in run for run in runs[1:]):
        raise UserError(
            f"{path} has a former format: remove the file, and run `ablate judge` on the folder of "
            "the sweep to write it again"
        )
    check_runs(str(path), runs, factors)
    return runs


def check_arms(where: str, runs: list[Any]) -> None:
    """Raise UserError if an arm's label stands for different levels in different runs.

    Tables and figures group runs by the label of their arm (`arm`).
    """
    first: dict[str, Any] = {}
    for run in runs:
        other = first.setdefault(run["arm"], run)
        if key(other["levels"]) != key(run["levels"]):
            raise UserError(
                f"{where}: cells {other['cell']} and {run['cell']} are both called {run['arm']!r}, "
                f"but their levels differ ({key(other['levels'])}, {key(run['levels'])}): "
                "run the sweep again"
            )


def check_runs(where: str, runs: list[Any], factors: list[str]) -> None:
    """Raise UserError for an item that is not a run with these factors, or for two equal runs.

    Two runs are equal if they have the same number (`cell`), or the same levels, seed and tuned
    value.

    Args:
        where: description of the source, for the message.
        runs: the items to check.
        factors: factors for which every run must have a level.
    """
    seen: dict[str, int] = {}
    for number, run in enumerate(runs, 1):
        _check_run(f"{where}, run number {number}", run, factors)
        tuned = run.get("tuned", {}).get("value")
        cell = json.dumps([key(run["levels"]), run["seed"], tuned], sort_keys=True)
        for name, shared in ((f"cell {run['cell']}", "value of `cell`"), (cell, "arm and seed")):
            if name in seen:
                raise UserError(
                    f"{where}: runs number {seen[name]} and {number} have the same {shared}"
                )
            seen[name] = number
    check_arms(where, runs)


def check_form(where: str, value: Any, form: Any) -> None:
    """Raise UserError unless a value from a JSON file has the form of a type annotation.

    The form of a TypedDict is an object with these keys; further keys are allowed.

    Args:
        where: description of the value, for the message.
        value: the value.
        form: the annotation, such as a TypedDict.
    """
    _check(f"{where} is ", where, value, form)


def _check(start: str, where: str, value: Any, form: Any) -> None:
    """Check a value; `start` is the start of the message about the value itself."""
    kinds, nested = _kinds(form)
    if not _fits(value, kinds):
        words = " or ".join(WORDS[kind] for kind in kinds)
        raise UserError(f"{start}{_shown(value)}; it must be {words}")
    if value is None or nested is None:
        return
    if is_typeddict(nested):
        inside = f"{where}{'.' if KEYS.search(where) else ': '}"
        for name, hint in _hints(nested).items():
            if name in value:
                _check(f"{where}: {name}=", f"{inside}{name}", value[name], hint)
            elif name in nested.__required_keys__:
                words = " or ".join(WORDS[kind] for kind in _kinds(hint)[0])
                raise UserError(f"{where}: {name} is missing; it must be {words}")
        return
    for label, item in _items(value):
        item_kinds, deeper = _kinds(get_args(nested)[-1])
        if deeper or not _fits(item, item_kinds):
            start = f"{where}, {label}{'=' if isinstance(value, dict) else ' is '}"
            _check(start, f"{where}, {label}", item, get_args(nested)[-1])


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        return value.items()
    return ((f"number {number}", item) for number, item in enumerate(value, 1))


_hints = cache(get_type_hints)


@cache
def _kinds(form: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the types that a value with this annotation may have after it is read from JSON, and
    the annotation of a list or an object, whose content is checked, too; else None.
    """
    options = get_args(form) if isinstance(form, UnionType) else (form,)
    plain = [dict if is_typeddict(option) else get_origin(option) or option for option in options]
    kinds = dict.fromkeys(READ.get(kind, kind) for kind in plain)
    if NUMBER in kinds:
        kinds.pop(int, None)
    checked = is_typeddict(options[0]) or get_origin(options[0]) in (list, dict)
    return (*kinds,), options[0] if checked else None


def _parsed(where: str, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where} cannot be read: {error}") from None


def _check_run(where: str, run: Any, factors: list[str]) -> None:
    check_form(where, run, Run)
    for factor in factors:
        if factor not in run["levels"]:
            raise UserError(
                f"{where}: levels has no {factor}, which is a factor of the study; restore the file"
            )
    _check_end(where, run)
    if "short" in run:
        _check_end(f"{where}: short", run["short"])
    if run["status"] == "failed" and "error" not in run:
        raise UserError(f"{where}: error is missing; it must be {WORDS[str]}")


def _check_end(where: str, end: Any) -> None:
    """Raise UserError unless a run has a valid status, and curves with lists of equal lengths.

    Args:
        where: description of the run, for the message.
        end: the outcome of the run after `budget.steps` or after `budget.short` training steps.
    """
    if end["status"] not in STATUSES:
        raise UserError(
            f"{where}: status={_shown(end['status'])}; allowed is {', '.join(STATUSES)}"
        )
    for name in ("curve", "training"):
        if len({len(values) for values in end.get(name, {}).values()}) > 1:
            raise UserError(f"{where}: {name} must hold lists of equal length")


def _fits(value: Any, kinds: tuple[Any, ...]) -> bool:
    return any(_is(value, kind) for kind in kinds)


def _is(value: Any, kind: Any) -> bool:
    if kind in (int, NUMBER):
        largest = sys.float_info.max  # comparisons with NaN are false
        return not isinstance(value, bool) and isinstance(value, kind) and abs(value) <= largest
    return isinstance(value, kind)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
