"""Match arms in size: compute the width that `study.match` asks for.

The integer for `key`, a width, is chosen such that the arm has nearly as many trained parameters as
the reference arm, which `to` names.
"""

import dataclasses
from bisect import bisect_left
from collections.abc import Callable, Sequence

import torch
from omegaconf import OmegaConf

from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.evidence.types import Match
from ablate.sweep.cell import Cell, Overrides, without_seed
from ablate.train.job import Job, build_model, parameters, prepare_data
from ablate.train.resolve import resolve

MOST = 2**17  # largest possible width
NEAR = 0.01  # allowed relative deviation of the number of parameters


def matched_jobs(cells: Sequence[Cell], match: Match) -> list[Overrides]:
    """Return the overrides of each run, followed by the value that matches its arm to the reference
    arm.

    Args:
        cells: the runs of a sweep.
        match: the study's key `match`, which names the reference arm in `to`.

    Raises:
        UserError: the reference arm does not exist, or no value matches it.
    """
    solved: dict[tuple[Overrides, Overrides], Overrides] = {}
    jobs = []
    for cell in cells:
        reference = _reference_run(cell, cells, match)
        pair = without_seed(cell.overrides), without_seed(reference.overrides)
        if pair not in solved:
            solved[pair] = () if cell is reference else _solved(cell, reference, match)
        jobs.append((*cell.overrides, *solved[pair]))
    return jobs


def _reference_run(cell: Cell, cells: Sequence[Cell], match: Match) -> Cell:
    """Return the run of the reference arm that has the same seed as `cell`.

    The arm of `cell` is matched to the reference arm in size.

    Raises:
        UserError: there is no such run.
    """
    wanted = cell.levels | match["to"]
    for other in cells:
        if other.levels == wanted and other.seed == cell.seed:
            return other
    missing = ", ".join(f"{key}={level}" for key, level in wanted.items())
    raise UserError(f"study.match.to: no run has {missing} with seed {cell.seed}")


def _solved(cell: Cell, reference: Cell, match: Match) -> Overrides:
    jobs = [resolve(arm.task_config()) for arm in (cell, reference)]
    data = [prepare_data(job) for job in jobs]
    size = _size_by(jobs[0], data[0], match["key"])
    target = _trained(jobs[1], data[1])
    width = solve(size, target, f"study.match.key={match['key']} of {cell.label}")
    chosen = f"{match['key']}={width}"
    print(
        f"{cell.label} gets {chosen}: {size(width):,} parameters, to match the {target:,} of "
        f"{reference.label}",
        flush=True,
    )
    return (chosen,)


def solve(size: Callable[[int], int], target: int, what: str) -> int:
    """Return the positive integer for which `size` is closest to a target.

    Args:
        size: an increasing function, such as the number of parameters of a width.
        target: the size to reach.
        what: name of the integer, for the message.

    Raises:
        UserError: no integer comes within 1 % of the target.
    """
    high = 1 + bisect_left(range(1, MOST), target, key=size)
    best = min((max(1, high - 1), high), key=lambda number: abs(size(number) - target))
    if abs(size(best) - target) > NEAR * target:
        raise UserError(
            f"{what}: no value comes within {NEAR:.0%} of the {target:,} parameters of the arm to "
            f"be matched. The nearest, {best}, gives {size(best):,}: choose another study.match.key"
        )
    return best


def _size_by(job: Job, data: TextData, key: str) -> Callable[[int], int]:
    """Return a function from the value of a width `key` to the number of trained parameters."""

    def size(width: int) -> int:
        config = job.config.copy()
        OmegaConf.update(config, key, width)
        return _trained(dataclasses.replace(job, config=config), data)

    return size


def _trained(job: Job, data: TextData) -> int:
    with torch.device("meta"):
        return parameters(build_model(job, data))
