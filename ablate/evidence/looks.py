"""Compute the planned interim analyses of a study, and check whether its runs match one of them.

A sweep with some of the seeds or variants is a part of the study, without a verdict. In evidence of
earlier versions, claims of a screen may wait for the runs of an arm.
"""

import math
from collections.abc import Iterable, Sequence

from ablate.evidence.outcome import involves_chance
from ablate.evidence.types import Claim, Run, Study

ENOUGH = 10  # minimum number of seeds for interim analyses
USUAL = 3  # number of analyses if a study with enough seeds does not set `looks`


def planned_looks(study: Study) -> list[int]:
    """Return the number of seeds at each planned analysis.

    The last number is the total number of seeds.
    """
    seeds = study["seeds"]
    chance = any(involves_chance(claim) for claim in study["claims"])
    looks = study.get("looks") or (USUAL if seeds >= ENOUGH and chance else 1)
    return [math.ceil(seeds * look / looks) for look in range(1, looks + 1)]


def lacks_runs(runs: Sequence[Run], study: Study) -> bool:
    """Return whether a claim of a study lacks an arm, or an arm of a claim lacks planned seeds.

    Such runs are a part of the study, which has no verdict.
    """
    if study.get("design"):
        return len(runs) < study["seeds"]
    return any(len(seeds_of(runs, claim)) < study["seeds"] for claim in study["claims"])


def split_claims(runs: Sequence[Run], study: Study) -> tuple[list[Claim], list[Claim]]:
    """Return the claims that are judged, and the claims that wait for the runs of an arm.

    Only a screen of an earlier version has claims that wait. A claim of a screen that names no arm
    is about all arms, so it waits for the arms of all claims.
    """
    if not study.get("screen"):
        return study["claims"], []
    lacking = [claim for claim in study["claims"] if arms_of(claim) and not seeds_of(runs, claim)]
    judged, waiting = list[Claim](), list[Claim]()
    for claim in study["claims"]:
        waits = claim in lacking or (bool(lacking) and not arms_of(claim))
        (waiting if waits else judged).append(claim)
    return judged, waiting


def seeds_of(runs: Iterable[Run], claim: Claim) -> set[int]:
    """Return the seeds for which every arm of a claim has a run.

    If the claim names no arm, all seeds of the runs are returned.
    """
    by_run = [(run["levels"], run["seed"]) for run in runs]
    seeds = {seed for _, seed in by_run}
    for arm in arms_of(claim):
        seeds &= {seed for levels, seed in by_run if levels.items() >= arm.items()}
    return seeds


def arms_of(claim: Claim) -> list[dict[str, object]]:
    """Return the levels of each arm that a claim uses: its two sides; for an interaction, also the
    two sides that are subtracted; and the positive control, which is the baseline with the levels
    in `loses`.
    """
    sides = [claim["where"] | claim[side] for side in ("treatment", "baseline") if claim[side]]
    arms = sides + [arm | claim["minus"] for arm in sides if claim["minus"]]
    if loses := claim.get("loses"):
        arms.append(claim["where"] | claim["baseline"] | loses)
    return arms
