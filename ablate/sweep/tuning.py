"""A nuisance is chosen for every arm: on validation, with seeds that the verdict does not use.

Every replicate chooses for itself, by one screening run per value with a seed of its own, so that
the interval over replicates knows that another choice was possible. Where an arm chooses once for
all of its replicates, identical arms differ in 10 to 18 % of sweeps, not 5 (docs/statistics.md).
"""

import json
from collections.abc import Sequence
from typing import Any, cast

from omegaconf import OmegaConf

from ablate.errors import UserError
from ablate.evidence.outcome import value
from ablate.evidence.tuned import ordered
from ablate.evidence.types import Levels, Run, Tune
from ablate.record.label import key
from ablate.record.types import Link
from ablate.sweep.cell import Cell, Overrides, without_seed

WIDENINGS = 2  # at most, of the grid of a replicate whose choice is at its edge
DIGITS = 3  # of a value that widens it
UNTESTED = "test_splits=[]"  # of a run that only chooses


def screening_jobs(cells: Sequence[Cell], tune: Tune, seeds: dict[int, int]) -> list[Overrides]:
    """Overrides of the runs that decide: every arm and replicate with every value.

    `seeds` holds the screening seed of every replicate. The runs are validated and never tested: no
    choice may depend on a test. Of two budgets they have the short one.

    Raises:
        UserError: a seed of the verdict is to be used for the choice as well.
    """
    shared = seeds.keys() & {*seeds.values()}
    if shared:
        raise UserError(
            f"study.tune.seeds={tune['seeds']}: seed {min(shared)} is one of the verdict; "
            f"choose others ({len(seeds)} are needed, counted on from the largest)"
        )
    return [_job(cell, tune, value, seeds) for cell in cells for value in tune["values"]]


def _job(cell: Cell, tune: Tune, chosen: Any, seeds: dict[int, int]) -> Overrides:
    """Overrides of the run that tries a value for a cell."""
    short = OmegaConf.select(cell.arm, "budget.short")
    budget = (f"budget.steps={short}", "budget.short=null") if short else ()
    seed = f"seed={seeds[cell.seed]}"
    arm = without_seed(cell.overrides)
    return (*arm, f"{tune['key']}={chosen}", seed, UNTESTED, *budget)


def wider_jobs(
    cells: Sequence[Cell],
    links: Sequence[Link],
    tune: Tune,
    seeds: dict[int, int],
) -> dict[int, Overrides]:
    """Overrides of the runs that try the next value where the best one is the last that was tried.

    By the number of the cell that asks for one; `seeds` holds the screening seed of every
    replicate. The grid goes on by the ratio of its last two values; one of words, or with a 0, ends
    as it is.
    """
    tried = _by_replicate(links)
    jobs = {}
    for cell in cells:
        own = tried.get(replicate(cell.levels, seeds[cell.seed]), [])
        best = choose(own, tune, cell)
        after = _beyond(best, [link["tuned"]["value"] for link in own])
        if after is not None:
            jobs[cell.number] = _job(cell, tune, after, seeds)
    return jobs


def _beyond(best: Any, values: Sequence[Any]) -> float | None:
    """The value after the last, on the side where the best one is; None where it is inside."""
    if len(values) < 2 or not ordered(values) or min(values) <= 0:
        return None
    up = sorted(values)
    neighbours = {up[-1]: up[-2], up[0]: up[1]}
    if best not in neighbours:
        return None
    return float(f"{best * best / neighbours[best]:.{DIGITS}g}")


def replicate(levels: Levels, seed: int) -> str:
    """Name an arm and a seed."""
    return json.dumps([key(levels), seed])


def _by_replicate(links: Sequence[Link]) -> dict[str, list[Link]]:
    found: dict[str, list[Link]] = {}
    for link in links:
        found.setdefault(replicate(link["levels"], link["seed"]), []).append(link)
    return found


def choose(own: Sequence[Link], tune: Tune, cell: Cell) -> Any:
    """The value with the best metric over the screening runs of a cell.

    Raises:
        UserError: none of them has a result.
    """
    found = {
        link["tuned"]["value"]: value(cast(Run, link), tune["metric"])
        for link in own
        if link["status"] != "failed"
    }
    if not found:
        errors = [link["error"] for link in own if "error" in link]
        raise UserError(f"study.tune: every screening run of {cell.label} failed: {errors[:1]}")
    best = max if tune["better"] == "higher" else min
    return best(found, key=lambda chosen: found[chosen])


def tuned_jobs(
    cells: Sequence[Cell], links: Sequence[Link], tune: Tune, seeds: dict[int, int]
) -> list[Overrides]:
    """Overrides of the cells of the verdict, each with the value chosen for its arm and seed.

    `seeds` holds the screening seed of every replicate.
    """
    tried = _by_replicate(links)
    chosen = [
        choose(tried.get(replicate(cell.levels, seeds[cell.seed]), []), tune, cell)
        for cell in cells
    ]
    return [
        (*cell.overrides, f"{tune['key']}={one}") for cell, one in zip(cells, chosen, strict=True)
    ]
