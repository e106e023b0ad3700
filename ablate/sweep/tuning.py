"""A nuisance is chosen for every arm: on validation, with seeds that the verdict does not use."""

import statistics
from collections.abc import Sequence
from typing import Any

from ablate.errors import UserError
from ablate.study.outcome import value
from ablate.sweep.cell import Cell, Overrides, without_seed

Levels = dict[str, Any]


def screening_jobs(cells: Sequence[Cell], tune: dict[str, Any]) -> list[Overrides]:
    """Overrides of the runs that decide: every arm with every value and every screening seed.

    They are validated and never tested: no choice may depend on a test.

    Raises:
        UserError: a seed of the verdict is to be used for the choice as well.
    """
    shared = {cell.config.seed for cell in cells} & set(tune["seeds"])
    if shared:
        raise UserError(
            f"study.tune.seeds={tune['seeds']}: seed {min(shared)} is one of the verdict; "
            "choose others"
        )
    arms = dict.fromkeys(without_seed(cell.overrides) for cell in cells)
    return [
        (*arm, f"{tune['key']}={chosen}", f"seed={seed}", "test_splits=[]")
        for arm in arms
        for chosen in tune["values"]
        for seed in tune["seeds"]
    ]


def choose(links: Sequence[dict[str, Any]], tune: dict[str, Any], levels: Levels) -> Any:
    """The value with the best mean metric over the screening runs of an arm.

    Raises:
        UserError: no screening run of this arm has a result.
    """
    own = [x for x in links if x["levels"] == levels and x["status"] != "failed"]
    found: dict[Any, list[float]] = {}
    for link in own:
        found.setdefault(link["tuned"]["value"], []).append(value(link, tune["metric"]))
    if not found:
        errors = [x["error"] for x in links if x["levels"] == levels and "error" in x]
        raise UserError(f"study.tune: every run of {levels} failed: {errors[:1]}")
    means = {chosen: statistics.fmean(values) for chosen, values in found.items()}
    best = max if tune["better"] == "higher" else min
    return best(means, key=lambda chosen: means[chosen])


def tuned_jobs(
    cells: Sequence[Cell], links: Sequence[dict[str, Any]], tune: dict[str, Any]
) -> list[Overrides]:
    """Overrides of the cells of the verdict, each with the value chosen for its arm."""
    return [
        (*cell.overrides, f"{tune['key']}={choose(links, tune, cell.levels)}") for cell in cells
    ]
