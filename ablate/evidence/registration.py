"""Whether a study is still the one that was written down before its runs.

A study that is changed after its runs, or runs that were there before it, make a verdict
exploratory. When each form of it was first begun is in the book (ablate.evidence.analysis_log).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ablate.evidence.types import Registration, Study
from ablate.phrases import listed, name_of

# What a reader is told, and what no verdict depends on: of a study, and of a claim.
TOLD = ("literature", "published", "fixed", "figures")
# Alpha is spent rightly however often a study is looked at.
FREE = ("looks",)
TOLD_OF_CLAIM = ("measures", "control_measures")
WITHHOLDS = "cannot"  # of a claim: it can come after the runs, as it only takes a verdict away


def study_hash(study: Mapping[str, Any]) -> str:
    """16 hexadecimal digits over everything that a verdict depends on."""
    known = decisive(study)
    return digest({**known, "claims": [_lenient(claim) for claim in known["claims"]]})


def decisive(study: Mapping[str, Any]) -> dict[str, Any]:
    """The study without what only a reader is told."""
    kept = {key: value for key, value in study.items() if key not in (*TOLD, *FREE)}
    return {**kept, "claims": [_asked(claim) for claim in study.get("claims", [])]}


def _asked(claim: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in claim.items() if key not in TOLD_OF_CLAIM}
    return kept if kept.get(WITHHOLDS) else _lenient(kept)


def _lenient(claim: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in claim.items() if key != WITHHOLDS}


def departures(
    study: Study, registration: Registration, registered: Mapping[str, Any], runs: list[Any]
) -> list[str]:
    """Sentences on how a study is not the registered one; each makes its verdicts exploratory.

    `registered` is the form that was registered, empty where only its hash is known. A run says
    below `study` the hash of the form that it was started under, unless it is older than that.
    """
    own, known = study_hash(study), registration.get("hash")
    found = [f"{WITHHOLDS} was taken from {name}" for name in _taken(registered, study)]
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


def _taken(registered: Mapping[str, Any], study: Study) -> list[str]:
    """Claims that were registered with what withholds their verdict, and have it no more."""
    strict = [name_of(claim) for claim in registered.get("claims", []) if claim.get(WITHHOLDS)]
    now = [name_of(claim) for claim in study["claims"] if claim.get(WITHHOLDS)]
    return [name for name in strict if name not in now]


def _differences(registered: Mapping[str, Any], study: Mapping[str, Any]) -> list[str]:
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


def digest(value: Any) -> str:
    """16 hexadecimal digits over plain data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
