"""The looks that a study plans: at how many seeds, and whether runs have come to one of them."""

import math
from collections.abc import Iterable, Sequence

from ablate.evidence.types import Run, Study

ENOUGH = 10  # seeds for planned looks
USUAL = 3  # looks of a study that has enough seeds and does not say


def planned_looks(study: Study) -> list[int]:
    """Return the numbers of seeds at which a study is looked at; the last is the whole plan."""
    seeds = study["seeds"]
    chance = any(claim["kind"] != "exact" for claim in study["claims"])
    looks = study.get("looks") or (USUAL if seeds >= ENOUGH and chance else 1)
    return [math.ceil(seeds * look / looks) for look in range(1, looks + 1)]


def at_a_look(runs: Sequence[Run], study: Study) -> bool:
    """Return whether every claim has its arms, and every arm the seeds of a planned look.

    Seeds that lack a run in one arm only are there where the arm was over at an earlier look. Of a
    study that does not say its looks, only the last one counts.
    """
    if not all(_has(runs, levels) for levels in _arms(study)):
        return False
    ends = planned_looks(study) if study.get("looks") else [study["seeds"]]
    seeds = sorted({run["seed"] for run in runs})
    by_arm: dict[str, set[int]] = {}
    for run in runs:
        by_arm.setdefault(run["arm"], set()).add(run["seed"])
    return all(own == {*seeds[: len(own)]} and len(own) in ends for own in by_arm.values())


def _arms(study: Study) -> Iterable[dict[str, object]]:
    """Yield the levels of both sides of every claim that compares arms."""
    for claim in study["claims"]:
        if claim["treatment"]:
            yield claim["where"] | claim["treatment"]
            yield claim["where"] | claim["baseline"]


def _has(runs: Iterable[Run], levels: dict[str, object]) -> bool:
    return any(run["levels"].items() >= levels.items() for run in runs)
