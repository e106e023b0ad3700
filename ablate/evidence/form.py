"""Check that evidence in files has the expected keys and types."""

import gzip
import json
import sys
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

from ablate.errors import UserError
from ablate.evidence.outcome import STATUSES
from ablate.evidence.types import (
    Asked,
    Claim,
    End,
    Match,
    Published,
    Regime,
    Registration,
    Run,
    Screen,
    Shown,
    Study,
    Tune,
    Tuned,
)
from ablate.record.label import key

NUMBER = (int, float)
LARGEST = 1 << 30  # bytes of a file of runs after unpacking; evidence may come from strangers
WORDS = {
    str: "text",
    int: "a whole number",
    NUMBER: "a number",
    (int, str): "a whole number or text",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    object: "there",
}


def check_about(path: Path, about: Mapping[str, Any]) -> None:
    """Raise UserError unless study.json contains a valid study, setting and registration.

    Args:
        path: the file, for the message.
        about: the content of the file.
    """
    study = about["study"]
    check_form(f"{path}: study", study, Study)
    check_form(f"{path}: regime", about["regime"], Regime)
    check_form(f"{path}: registration", about["registration"], Registration)
    for part, form in (("claims", Claim), ("published", Published), ("figures", Shown)):
        for number, item in enumerate(study.get(part, []), 1):
            check_form(f"{path}: study.{part}, number {number}", item, form)
    for part, form_of_part in (("tune", Tune), ("match", Match), ("screen", Screen)):
        if study.get(part) is not None:
            check_form(f"{path}: study.{part}", study[part], form_of_part)
    for name, history in about["registration"].get("asked", {}).items():
        _check_asked(f"{path}: registration.asked, {name}", history)
    if not all(isinstance(factor, str) for factor in study["factors"]):
        raise UserError(f"{path}: study.factors must be a list of text")


def _check_asked(where: str, history: Any) -> None:
    """Raise UserError unless the history of a claim has the keys and types of `Asked`."""
    check_form(where, history, Asked)
    if not all(isinstance(seeds, list) for seeds in history["looks"]):
        raise UserError(f"{where}: looks must hold lists of seeds")


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
        for name in (f"cell {run['cell']}", cell):
            if name in seen:
                raise UserError(
                    f"{where}: runs number {seen[name]} and {number} have the same arm and seed"
                )
            seen[name] = number
    check_arms(where, runs)


def check_form(where: str, value: Any, form: type) -> None:
    """Raise UserError unless a value is an object with the keys and types of a TypedDict.

    Nested values are not checked.

    Args:
        where: description of the value, for the message.
        value: the value.
        form: the TypedDict.
    """
    if not isinstance(value, dict):
        raise UserError(f"{where} is {_shown(value)}; it must be an object")
    for name, (kind, none) in _kinds(form).items():
        if name not in value:
            if name in form.__required_keys__:  # type: ignore[attr-defined]
                raise UserError(f"{where}: {name} is missing; it must be {WORDS[kind]}")
        elif not (_is(value[name], kind) or (none and value[name] is None)):
            raise UserError(f"{where}: {name}={_shown(value[name])}; it must be {WORDS[kind]}")


@cache
def _kinds(form: type) -> dict[str, tuple[Any, bool]]:
    """Return for every key of a TypedDict the type of its value, and whether null is allowed."""
    return {
        name: (_kind(hint), NoneType in get_args(hint))
        for name, hint in get_type_hints(form).items()
    }


def _kind(hint: Any) -> Any:
    """Return the type that a value with this annotation has after it is read from JSON."""
    if isinstance(hint, UnionType):
        hint, *more = (kind for kind in get_args(hint) if kind is not NoneType)
        if more:
            return (hint, *more)
    plain = dict if is_typeddict(hint) else get_origin(hint) or hint
    return {float: NUMBER, Any: object}.get(plain, plain)


def _parsed(where: str, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where} cannot be read: {error}") from None


def _check_run(where: str, run: Any, factors: list[str]) -> None:
    check_form(where, run, Run)
    _check_end(where, run)
    for factor in factors:
        if factor not in run["levels"]:
            raise UserError(
                f"{where}: levels has no {factor}, which is a factor of the study; restore the file"
            )
    if "short" in run:
        check_form(f"{where}, short", run["short"], End)
        _check_end(f"{where}, short", run["short"])
    if "training" in run:
        _check_curve(f"{where}, training", run["training"])
    if "tuned" in run:
        check_form(f"{where}, tuned", run["tuned"], Tuned)
    if run["status"] == "failed" and "error" not in run:
        raise UserError(f"{where}: error is missing; it must be {WORDS[str]}")


def _check_end(where: str, end: Any) -> None:
    """Raise UserError unless status, metrics and curve of a run have valid values.

    Args:
        where: description of the run, for the message.
        end: the outcome of the run after `budget.steps` or after `budget.short` training steps.
    """
    if end["status"] not in STATUSES:
        raise UserError(
            f"{where}: status={_shown(end['status'])}; allowed is {', '.join(STATUSES)}"
        )
    for metric, value in end["metrics"].items():
        if value is not None and not _is(value, NUMBER):
            raise UserError(
                f"{where}: metrics, {metric}={_shown(value)}; it must be a finite number or null"
            )
    _check_curve(where, end["curve"])


def _check_curve(where: str, curve: Any) -> None:
    """Raise UserError unless a curve consists of lists of numbers of equal lengths."""
    lists = all(isinstance(values, list) for values in curve.values())
    if not lists or len({len(values) for values in curve.values()}) > 1:
        raise UserError(f"{where}: curve must hold lists of equal length")
    if not all(x is None or _is(x, NUMBER) for values in curve.values() for x in values):
        raise UserError(f"{where}: curve must hold only numbers or null")


def _is(value: Any, kind: Any) -> bool:
    if kind in (int, NUMBER):
        largest = sys.float_info.max  # comparisons with NaN are false
        return not isinstance(value, bool) and isinstance(value, kind) and abs(value) <= largest
    return isinstance(value, kind)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
