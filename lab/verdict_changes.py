"""Print the verdicts in experiments/ that differ from the verdicts of a git revision.

Use: python -m lab.verdict_changes REVISION

The exit status is 1 if the effect or the interval of a claim changed, unless the claim was exact
before and is estimated now. If the same runs are judged again, effects and intervals must stay the
same.
"""

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ablate.phrases import name_of
from ablate.verdict.decision import at_each_budget

CLOSE = 1e-6  # tolerance, absolute and relative, of effects and ends of intervals
KEYS = ("verdict", "exploratory")


def main(revision: str = "HEAD") -> int:
    """Print all differences from the verdicts of a git revision, and return the exit status.

    Compares every experiments/NAME/verdict.json that the revision has, too.
    """
    moved = 0
    committed = _paths(revision)
    for path in sorted(Path("experiments").glob("*/verdict.json")):
        if path.as_posix() not in committed:
            continue
        before, now = _claims(_at(revision, path)), _claims(path.read_text(encoding="utf-8"))
        for name in before.keys() & now.keys():
            old, new = before[name], now[name]
            if any(old[key] != new[key] for key in KEYS):
                words = f"{old['verdict']} -> {new['verdict']}"
                print(f"{path.parent.name}: {name}: {words}: {new['evidence']}")
            if not _same(old, new):
                moved += 1
                print(f"MOVED {path.parent.name}: {name}: {old['effect']} -> {new['effect']}")
    print(f"{moved} effects or intervals moved")
    return int(moved > 0)


def _paths(revision: str) -> set[str]:
    return {*_git("ls-tree", "-r", "--name-only", revision, "experiments").splitlines()}


def _at(revision: str, path: Path) -> str:
    return _git("show", f"{revision}:{path.as_posix()}")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, check=True, encoding="utf-8")
    return done.stdout


def _claims(text: str) -> dict[str, Any]:
    entries: Iterator[Any] = at_each_budget(json.loads(text)["claims"])
    return {f"{name_of(entry)} {entry.get('steps', '')}".strip(): entry for entry in entries}


def _same(old: Any, new: Any) -> bool:
    """Return whether two versions of a claim have the same effect and interval, up to rounding.

    If only one version has an interval, the two versions count as the same if the old claim was
    exact, because an exact result and an estimate cannot be compared.
    """
    if bool(old["interval"]) != bool(new["interval"]):
        return old["kind"] == "exact"
    numbers = ([entry["effect"], *(entry["interval"] or [])] for entry in (old, new))
    pairs = zip(*numbers, strict=True)
    return all(
        a == b if None in (a, b) else math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE)
        for a, b in pairs
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
