"""Compute the planned interim analyses of a study, and check whether its runs match one of them."""

import math
from collections.abc import Iterable, Sequence

from ablate.evidence.types import Run, Study

ENOUGH = 10  # minimum number of seeds for interim analyses
USUAL = 3  # number of analyses if a study with enough seeds does not set `looks`


def planned_looks(study: Study) -> list[int]:
    """Return the number of seeds at each planned analysis.

    The last number is the total number of seeds.
    """
    seeds = study["seeds"]
    chance = any(claim["kind"] != "exact" for claim in study["claims"])
    looks = study.get("looks") or (USUAL if seeds >= ENOUGH and chance else 1)
    return [math.ceil(seeds * look / looks) for look in range(1, looks + 1)]


def matches_planned_analysis(runs: Sequence[Run], study: Study) -> bool:
    """Return whether the runs have all arms of all claims, with the seeds of a planned analysis.

    An arm may have fewer seeds than the others if it stopped at an earlier analysis. If a study
    does not set the number of its analyses, only the analysis of all seeds counts.
    """
    if not all(_has(runs, levels) for levels in _arms(study)):
        return False
    ends = planned_looks(study) if study.get("looks") else [study["seeds"]]
    seeds = sorted({run["seed"] for run in runs})
    by_arm: dict[str, set[int]] = {}
    for run in runs:
        by_arm.setdefault(run["arm"], set()).add(run["seed"])
    return all(
        seeds_of_arm == {*seeds[: len(seeds_of_arm)]} and len(seeds_of_arm) in ends
        for seeds_of_arm in by_arm.values()
    )


def _arms(study: Study) -> Iterable[dict[str, object]]:
    """Yield the levels of both arms of every claim that compares arms."""
    for claim in study["claims"]:
        if claim["treatment"]:
            yield claim["where"] | claim["treatment"]
            yield claim["where"] | claim["baseline"]


def _has(runs: Iterable[Run], levels: dict[str, object]) -> bool:
    return any(run["levels"].items() >= levels.items() for run in runs)
