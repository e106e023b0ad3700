"""lab/bench/results.json: one row per comparison, and how rounds become a row.

A row is {what, ours, other, unit, ratio, ratio_min, ratio_max, machine, settings}. `ours` and
`other` are medians over the rounds; `ratio` is the median of ours / other of each round, and the
next two are the smallest and the largest. `settings` says what the two sides are.
"""

import json
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import torch

from ablate.errors import UserError

RESULTS = Path(__file__).parent / "results.json"


class Row(TypedDict):
    """One comparison."""

    what: str
    ours: float
    other: float
    unit: str
    ratio: float
    ratio_min: float
    ratio_max: float
    machine: str
    settings: str


def row(what: str, ours: Sequence[float], other: Sequence[float], unit: str, settings: str) -> Row:
    """Return the row of some rounds; round i gave `ours[i]` and `other[i]`."""
    ratios = [mine / theirs for mine, theirs in zip(ours, other, strict=True)]
    return {
        "what": what,
        "ours": statistics.median(ours),
        "other": statistics.median(other),
        "unit": unit,
        "ratio": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "machine": machine(),
        "settings": settings,
    }


def read(path: Path = RESULTS) -> list[Row]:
    """Return the rows of a file, none where there is no file.

    Raises:
        UserError: the file is not a list of rows.
    """
    if not path.exists():
        return []
    try:
        rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
        named = all(isinstance(row["what"], str) for row in rows)
    except (ValueError, TypeError, KeyError):
        named = False
    if not named:
        raise UserError(f"{path} is not a list of results; remove it and measure again.")
    return rows


def merge(earlier: Sequence[Row], measured: Sequence[Row]) -> list[Row]:
    """Return the earlier rows with those that were measured again replaced, new ones at the end.

    What was measured on another machine stays.
    """
    return list({(row["what"], row["machine"]): row for row in (*earlier, *measured)}.values())


def keep(measured: Sequence[Row], path: Path = RESULTS) -> list[Row]:
    """Put measured rows into the file, and return all that it holds then."""
    rows = merge(read(path), measured)
    path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return rows


def machine() -> str:
    """Say what the figures were measured on: processor, cores, AMX, version of torch."""
    about = _processor()
    amx = "AMX" if "amx_tile" in about.get("flags", "").split() else "no AMX"
    name = about.get("model name") or platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {amx}, torch {torch.__version__}"


def _processor() -> dict[str, str]:
    """What Linux says of its first processor."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").split("\n\n")[0].splitlines() if path.exists() else []
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}
