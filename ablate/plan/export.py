"""Return the plan of a sweep as plain data, for programs: `ablate plan --json`."""

from collections.abc import Sequence
from typing import TypedDict

from ablate.plan.plan import Arm, Plan
from ablate.plan.power import Sensitivity


class PlannedArm(TypedDict):
    """An arm of a planned sweep: its number of cells (runs), and the seconds of each with the
    source of this estimate; null where unknown.
    """

    name: str
    cells: int
    done: int | None
    seconds_each: float | None
    known_by: str | None


class PlannedClaim(TypedDict):
    """A claim of a planned study: the smallest effect that is detected with power 0.8, and the
    number of seeds that decides the claim.
    """

    id: str
    kind: str
    metric: str
    least_effect: float | None
    seeds_needed: int | None
    noise: str
    doubt: str


class PlanData(TypedDict):
    """A sweep that has not started, as `ablate plan --json` prints it; times are in seconds."""

    name: str
    seeds: int
    tuned: str
    screening: list[PlannedArm]
    arms: list[PlannedArm]
    core_seconds: float | None
    wall_seconds: float | None
    bytes: int
    claims: list[PlannedClaim]


def as_data(planned: Plan, seen: Sequence[Sensitivity]) -> PlanData:
    """Return as plain data the plan of a sweep and the sensitivity of each claim."""
    return {
        "name": planned.config.name,
        "seeds": planned.seeds,
        "tuned": planned.tuned,
        "screening": [*map(_arm, planned.screening)],
        "arms": [*map(_arm, planned.arms)],
        "core_seconds": planned.seconds,
        "wall_seconds": None if planned.seconds is None else planned.wall,
        "bytes": planned.needed,
        "claims": [*map(_claim, seen)],
    }


def _arm(arm: Arm) -> PlannedArm:
    return {
        "name": arm.name,
        "cells": arm.cells,
        "done": arm.done,
        "seconds_each": arm.cost.seconds if arm.cost else None,
        "known_by": arm.cost.known_by if arm.cost else None,
    }


def _claim(sight: Sensitivity) -> PlannedClaim:
    return {
        "id": sight.claim["id"],
        "kind": sight.claim["kind"],
        "metric": sight.claim["metric"],
        "least_effect": sight.least,
        "seeds_needed": sight.plan.seeds if sight.plan else None,
        "noise": sight.noise,
        "doubt": sight.one_way,
    }
