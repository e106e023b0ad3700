"""Read and write lab/bench/results.json, which has one row for each comparison and machine."""

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
    """The result of a comparison.

    Attributes:
        what: name of the comparison.
        ours, other: median over the rounds for `ablate` and for the other side.
        unit: unit of both.
        ratio: median over the rounds of ours / other.
        ratio_min, ratio_max: smallest and largest ratio of a round.
        machine: description of the machine.
        settings: description of the two sides.
    """

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
    """Return the row of a comparison; `ours[i]` and `other[i]` were measured in round i."""
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
    """Return the rows of a file; [] if there is no file.

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
    """Return all rows; a measured row replaces the earlier row with the same name and machine.

    Measured rows that replace no earlier row are at the end.
    """
    return list({(row["what"], row["machine"]): row for row in (*earlier, *measured)}.values())


def keep(measured: Sequence[Row], path: Path = RESULTS) -> list[Row]:
    """Merge measured rows into the file, and return all rows of the file."""
    rows = merge(read(path), measured)
    path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return rows


def machine() -> str:
    """Return a description of this machine: processor, cores, AMX, and the version of torch."""
    about = _processor()
    amx = "AMX" if "amx_tile" in about.get("flags", "").split() else "no AMX"
    name = about.get("model name") or platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {amx}, torch {torch.__version__}"


def _processor() -> dict[str, str]:
    """Return the properties of the first processor in /proc/cpuinfo; {} without this file."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").split("\n\n")[0].splitlines() if path.exists() else []
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}
