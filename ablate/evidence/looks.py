"""Compute the planned interim analyses of a study, and check whether its runs match one of them.

The variants of a screen may be trained one after the other. A screen is therefore judged as soon
as the baseline and one variant have the seeds of an analysis. The claims on the other variants wait
for their runs.
"""

import math
from collections.abc import Iterable, Sequence

from ablate.evidence.types import Claim, Run, Study

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

    For a screen, the arms of one claim are enough. An arm may have fewer seeds than the others if
    it stopped at an earlier analysis. If a study does not set the number of its analyses, only the
    analysis of all seeds counts.
    """
    with_runs, waiting = split_claims(runs, study)
    if not with_runs or (waiting and not study.get("screen")):
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


def split_claims(runs: Sequence[Run], study: Study) -> tuple[list[Claim], list[Claim]]:
    """Return the claims whose arms all have runs, and the other claims, which wait for runs.

    A claim that compares no arms, such as a trend, never waits.
    """
    with_runs: list[Claim] = []
    waiting: list[Claim] = []
    for claim in study["claims"]:
        has_runs = all(_has(runs, levels) for levels in _arms(claim))
        (with_runs if has_runs else waiting).append(claim)
    return with_runs, waiting


def _arms(claim: Claim) -> Iterable[dict[str, object]]:
    """Yield the levels of both arms of a claim, if the claim compares arms."""
    if claim["treatment"]:
        yield claim["where"] | claim["treatment"]
        yield claim["where"] | claim["baseline"]


def _has(runs: Iterable[Run], levels: dict[str, object]) -> bool:
    return any(run["levels"].items() >= levels.items() for run in runs)
