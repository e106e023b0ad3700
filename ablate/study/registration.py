"""When a study was written down: before its runs, or after.

results/studies/<name>.jsonl remembers every form of a study that a sweep was started with, and
every look at its runs. A study that is changed after its runs, or runs that were there before it,
make a verdict exploratory; looks beyond the plan are paid for with alpha.
"""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

# What a reader is told, and what no verdict depends on.
TOLD = ("literature", "published", "fixed")


def study_hash(study: dict[str, Any]) -> str:
    """16 hexadecimal digits over everything that a verdict depends on."""
    decisive = {key: value for key, value in study.items() if key not in TOLD}
    return _digest(decisive)


def register(
    results: Path, name: str, study: dict[str, Any], regime: dict[str, Any]
) -> dict[str, Any]:
    """Write a study down, unless it is known, and return its registration.

    `time` is when this form of it was first registered in this regime, `earlier` the other forms,
    and `looked_at` the seeds of every conclusion that was drawn from it before.
    """
    known = [line for line in _read(_path(results, name)) if line["regime"] == _digest(regime)]
    own = study_hash(study)
    forms = {line["hash"]: line["time"] for line in reversed(known) if line["what"] == "study"}
    if own not in forms:
        forms[own] = time.time()
        _append(results, name, {"what": "study", "hash": own, "time": forms[own]}, regime)
    earlier = [form for form, when in forms.items() if when < forms[own]]
    looks = {tuple(line["seeds"]) for line in known if line["hash"] == own and "seeds" in line}
    return {
        "hash": own,
        "time": forms[own],
        "earlier": earlier,
        "looked_at": sorted(list(seeds) for seeds in looks),
    }


def look(
    results: Path, name: str, registration: dict[str, Any], regime: dict[str, Any], seeds: list[int]
) -> dict[str, Any]:
    """Write a conclusion down; `looks` counts those before it, on other sets of seeds."""
    before = [seen for seen in registration["looked_at"] if seen != seeds]
    line = {"what": "look", "hash": registration["hash"], "seeds": seeds, "time": time.time()}
    if seeds not in registration["looked_at"]:
        _append(results, name, line, regime)
    return {**registration, "looked_at": [*before, seeds], "looks": len(before)}


def _path(results: Path, name: str) -> Path:
    return results / "studies" / f"{name}.jsonl"


def _append(results: Path, name: str, line: dict[str, Any], regime: dict[str, Any]) -> None:
    path = _path(results, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps({**line, "regime": _digest(regime)}) + "\n")


def _read(path: Path) -> list[dict[str, Any]]:
    """All whole lines; one that a killed process left unfinished is passed over."""
    found = []
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
