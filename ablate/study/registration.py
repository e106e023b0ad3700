"""When a study was written down: before its runs, or after; and whether it is still that study.

results/studies/<name>.jsonl remembers every form of a study that a sweep was started with, and
every look at its runs. A study that is changed after its runs, or runs that were there before it,
make a verdict exploratory; each analysis beyond the plan spends part of alpha.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ablate.study.words import listed

# What a reader is told, and what no verdict depends on: of a study, and of a claim.
TOLD = ("literature", "published", "fixed")
TOLD_OF_CLAIM = ("measures", "control_measures")


def study_hash(study: dict[str, Any]) -> str:
    """16 hexadecimal digits over everything that a verdict depends on."""
    return digest(decisive(study))


def decisive(study: dict[str, Any]) -> dict[str, Any]:
    """The study without what only a reader is told."""
    kept = {key: value for key, value in study.items() if key not in TOLD}
    return {**kept, "claims": [_asked(claim) for claim in study.get("claims", [])]}


def _asked(claim: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in claim.items() if key not in TOLD_OF_CLAIM}


def departures(
    study: dict[str, Any], registration: dict[str, Any], registered: dict[str, Any], runs: list[Any]
) -> list[str]:
    """Sentences on how a study is not the registered one; each makes its verdicts exploratory.

    `registered` is the form that was registered, empty where only its hash is known. A run says
    below `study` the hash of the form that it was started under, unless it is older than that.
    """
    own, known = study_hash(study), registration.get("hash")
    found = []
    if not known:
        found.append("The study was not registered before its runs")
    elif own != known:
        what = listed(_differences(registered, study)) if study_hash(registered) == known else ""
        found.append(
            f"The study is not the one that was registered (hash {known}, now {own})"
            + (f": {what}" if what else "")
        )
    others = [run["cell"] for run in runs if known and run.get("study", known) != known]
    if others:
        many = "s" * (len(others) > 1)
        found.append(
            f"Another form of the study was in force when {len(others)} run{many} began "
            f"(cell{many} {listed(others)})"
        )
    return [f"{sentence}; that makes its verdicts exploratory." for sentence in found]


def _differences(registered: dict[str, Any], study: dict[str, Any]) -> list[str]:
    before, now = (dict(_leaves(decisive(form))) for form in (registered, study))
    return [
        f"{key} was {before.get(key, 'not there')} and is {now.get(key, 'not there')}"
        for key in dict.fromkeys([*before, *now])
        if key not in before or key not in now or before[key] != now[key]
    ]


def _leaves(node: Any, path: str = "study") -> Iterator[tuple[str, Any]]:
    """Values by dotted keys; claims by their ids, whose order is a value as well."""
    if isinstance(node, list) and node and all(isinstance(x, dict) and "id" in x for x in node):
        yield path, [item["id"] for item in node]
        node = {item["id"]: item for item in node}
    if not isinstance(node, dict) or not node:
        yield path, node
        return
    for key, value in node.items():
        yield from _leaves(value, f"{path}.{key}")


def register(
    results: Path, name: str, study: dict[str, Any], regime: dict[str, Any]
) -> dict[str, Any]:
    """Write a study down, unless it is known, and return its registration.

    `time` is when this form of it was first registered in this regime, `earlier` the other forms,
    and `looked_at` the seeds of every conclusion that was drawn from it before.
    """
    known = [line for line in _read(_path(results, name)) if line["regime"] == digest(regime)]
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
        file.write(json.dumps({**line, "regime": digest(regime)}) + "\n")


def _read(path: Path) -> list[dict[str, Any]]:
    """All whole lines; one that a killed process left unfinished is passed over."""
    found = []
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found


def digest(value: Any) -> str:
    """16 hexadecimal digits over plain data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
