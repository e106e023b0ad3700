"""Check that evidence in files has the form of its declarations (ablate.evidence.types)."""

import gzip
import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ablate.errors import UserError
from ablate.evidence.outcome import STATUSES
from ablate.evidence.types import Run
from ablate.record.files import finite
from ablate.record.label import key

_adapter = cache(TypeAdapter[Any])
LARGEST = 1 << 30  # bytes of a file of runs after unpacking; evidence may come from strangers


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
    """Raise UserError unless a value from a JSON file has the form of a type annotation, and all of
    its numbers are finite.

    The form of a TypedDict is an object with these keys; further keys are allowed.

    Args:
        where: description of the value, for the message.
        value: the value.
        form: the annotation, such as a TypedDict.
    """
    try:
        _adapter(form).validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"{part}: " for part in first["loc"])
        given = "" if first["type"] == "missing" else f", not {_shown(first['input'])}"
        raise UserError(f"{where}: {place}{first['msg']}{given}") from None
    if finite(value) != value:
        raise UserError(f"{where}: a number is not finite: restore the file")


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
        raise UserError(f"{where}: error is missing")


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


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
