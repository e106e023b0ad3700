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
    judged, _ = split_claims(runs, study)
    if not judged or not all(_has_arms(runs, claim) for claim in judged):
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
    """Return the claims that are judged, and the claims that wait for the runs of an arm.

    Only a screen has claims that wait.
    """
    judged: list[Claim] = []
    waiting: list[Claim] = []
    for claim in study["claims"]:
        waits = bool(study.get("screen")) and not _has_arms(runs, claim)
        (waiting if waits else judged).append(claim)
    return judged, waiting


def _has_arms(runs: Iterable[Run], claim: Claim) -> bool:
    """Return whether both arms of a claim have runs; True for a claim that compares no arms."""
    if not claim["treatment"]:
        return True
    arms = (claim["where"] | claim[side] for side in ("treatment", "baseline"))
    return all(any(run["levels"].items() >= arm.items() for run in runs) for arm in arms)
