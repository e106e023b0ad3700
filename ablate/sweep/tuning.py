"""A nuisance is chosen for every arm: on validation, with seeds that the verdict does not use.

Every replicate chooses for itself, by one screening run per value with a seed of its own, so that
the interval over replicates knows that another choice was possible. Where an arm chooses once for
all of its replicates, identical arms differ in 10 to 18 % of sweeps, not 5 (docs/statistics.md).
"""

import itertools
import json
from collections.abc import Sequence
from typing import Any

from ablate.errors import UserError
from ablate.study.outcome import value
from ablate.sweep.cell import Cell, Overrides, without_seed

Levels = dict[str, Any]


def screening_jobs(cells: Sequence[Cell], tune: dict[str, Any]) -> list[Overrides]:
    """Overrides of the runs that decide: every arm and replicate with every value.

    They are validated and never tested: no choice may depend on a test.

    Raises:
        UserError: a seed of the verdict is to be used for the choice as well.
    """
    seeds = screening_seeds(cells, tune)
    shared = seeds.keys() & {*seeds.values()}
    if shared:
        raise UserError(
            f"study.tune.seeds={tune['seeds']}: seed {min(shared)} is one of the verdict; "
            f"choose others ({len(seeds)} are needed, counted on from the largest)"
        )
    runs = dict.fromkeys((without_seed(cell.overrides), seeds[cell.seed]) for cell in cells)
    return [
        (*arm, f"{tune['key']}={chosen}", f"seed={seed}", "test_splits=[]")
        for arm, seed in runs
        for chosen in tune["values"]
    ]


def screening_seeds(cells: Sequence[Cell], tune: dict[str, Any]) -> dict[int, int]:
    """The screening seed of every replicate, in order; too few are counted on from the largest."""
    given = dict.fromkeys(tune["seeds"])
    replicates = sorted({cell.seed for cell in cells})
    return dict(zip(replicates, [*given, *_counted(max(given), len(replicates))], strict=False))


def _counted(after: int, many: int) -> list[int]:
    return [*itertools.islice(itertools.count(after + 1), many)]


def choose(links: Sequence[dict[str, Any]], tune: dict[str, Any], levels: Levels, seed: int) -> Any:
    """The value with the best metric over the screening runs of an arm with this seed.

    Raises:
        UserError: none of them has a result.
    """
    own = [link for link in links if link["levels"] == levels and link["seed"] == seed]
    found = {
        link["tuned"]["value"]: value(link, tune["metric"])
        for link in own
        if link["status"] != "failed"
    }
    if not found:
        errors = [link["error"] for link in own if "error" in link]
        raise UserError(f"study.tune: every run of {levels} with seed {seed} failed: {errors[:1]}")
    best = max if tune["better"] == "higher" else min
    return best(found, key=lambda chosen: found[chosen])


def _key(levels: Levels, seed: int) -> str:
    return json.dumps([levels, seed], sort_keys=True, default=str)


def tuned_jobs(
    cells: Sequence[Cell], links: Sequence[dict[str, Any]], tune: dict[str, Any]
) -> list[Overrides]:
    """Overrides of the cells of the verdict, each with the value chosen for its arm and seed."""
    seeds = screening_seeds(cells, tune)
    of_arm: dict[str, list[dict[str, Any]]] = {}
    for link in links:
        of_arm.setdefault(_key(link["levels"], link["seed"]), []).append(link)
    chosen = [
        choose(of_arm.get(_key(cell.levels, seed), []), tune, cell.levels, seed)
        for cell in cells
        for seed in [seeds[cell.seed]]
    ]
    return [
        (*cell.overrides, f"{tune['key']}={one}") for cell, one in zip(cells, chosen, strict=True)
    ]
