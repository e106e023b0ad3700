"""Convert the plan of a sweep to plain data, for `ablate plan --json`."""

from collections.abc import Sequence

from ablate.plan.plan import Arm, Plan
from ablate.plan.power import Sensitivity


def as_data(planned: Plan, seen: Sequence[Sensitivity]) -> dict[str, object]:
    """Return the plan of a sweep, with the sensitivity of each claim, as plain data.

    Times are in seconds, and unknown values are None. `core_seconds` counts the time of a run for
    each of its threads. `tuned` is the config key that the screening runs tune, or "". `bytes` is
    the disk space that the sweep needs.
    """
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


def _arm(arm: Arm) -> dict[str, object]:
    """Return an arm of a planned sweep as plain data.

    `cells` is the number of runs, and `done` the number of runs that earlier runs already cover.
    `seconds_each` is the estimated time of a run, and `known_by` says where the estimate comes
    from.
    """
    return {
        "name": arm.name,
        "cells": arm.cells,
        "done": arm.done,
        "seconds_each": arm.cost.seconds if arm.cost else None,
        "known_by": arm.cost.known_by if arm.cost else None,
    }


def _claim(sight: Sensitivity) -> dict[str, object]:
    """Return a claim of a planned study as plain data.

    `reading` distinguishes claims with the same id; "" if the claim has none.
    `least_effect` is the smallest effect that the sweep detects with power 0.8. `seeds_needed` is
    the number of seeds that decide the claim with this power. `noise` is the source of the assumed
    run-to-run variation. `doubt` says why the claim can have only one outcome; "" if it can have
    several.
    """
    return {
        "id": sight.claim["id"],
        "reading": sight.claim.get("reading") or "",
        "kind": sight.claim["kind"],
        "metric": sight.claim["metric"],
        "least_effect": sight.least,
        "seeds_needed": sight.plan.seeds if sight.plan else None,
        "noise": sight.noise,
        "doubt": sight.one_way,
    }
