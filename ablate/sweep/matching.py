"""Arms made alike in size or in cost: `study.match` solves for a width, or for a budget.

By parameters: the whole number for `key`, a width, with which the trained parameters of an arm are
nearest to those of the arm that `to` names. By flops: the number of updates with which an arm takes
as many floating-point operations. Those of one update are counted in the matrix products of a
forward and a backward pass over real sentences.
"""

from collections.abc import Callable, Sequence

import torch
from omegaconf import DictConfig, OmegaConf
from torch.utils.flop_counter import FlopCounterMode

from ablate.data.module import TextData
from ablate.data.vocabulary import PAD
from ablate.errors import UserError
from ablate.evidence.types import Match
from ablate.sweep.cell import Cell, Overrides, without_seed
from ablate.train.job import Job
from ablate.train.prepare import build_model, make_model, parameters, prepare_data
from ablate.train.resolve import resolve
from ablate.verdict.match import keys

SENTENCES = 64  # over which operations are counted
MOST = 2**17  # of a width
NEAR = 0.01  # share by which the nearest width may miss


def matched_jobs(cells: Sequence[Cell], match: Match) -> list[Overrides]:
    """Overrides of the cells, each with what makes it like the cell that it is matched to.

    Raises:
        UserError: there is no such cell, or no value makes them alike.
    """
    solved: dict[tuple[Overrides, Overrides], Overrides] = {}
    jobs = []
    for cell in cells:
        measure = _measure(cell, cells, match)
        pair = without_seed(cell.overrides), without_seed(measure.overrides)
        if pair not in solved:
            solved[pair] = () if cell is measure else _solved(cell, measure, match)
        jobs.append((*cell.overrides, *solved[pair]))
    return jobs


def _measure(cell: Cell, cells: Sequence[Cell], match: Match) -> Cell:
    """The cell of the same seed that a cell is matched to."""
    wanted = cell.levels | match["to"]
    for other in cells:
        if other.levels == wanted and other.seed == cell.seed:
            return other
    said = ", ".join(f"{key}={level}" for key, level in wanted.items())
    raise UserError(f"study.match.to: no cell has {said} with seed {cell.seed}")


def _solved(cell: Cell, measure: Cell, match: Match) -> Overrides:
    jobs = [resolve(arm.task_config()) for arm in (cell, measure)]
    data = [prepare_data(job) for job in jobs]
    if match["by"] == "flops":
        own, target = map(flops, jobs, data)
        ratio = target / own
        found = {key: OmegaConf.select(measure.config, key) for key in keys(match)}
        values = {key: round(steps * ratio) for key, steps in found.items() if steps}
        told = f"{own:.4g} and {target:.4g} operations per update"
    else:
        own_size = _size_by(jobs[0].config, data[0], match["key"])
        target = _trained(jobs[1].config, data[1])
        width = solve(own_size, target, f"study.match.key={match['key']} of {cell.label}")
        values = {match["key"]: width}
        told = f"{own_size(width):,} and {target:,} parameters"
    chosen = tuple(f"{key}={value}" for key, value in values.items())
    print(f"{cell.label} is matched to {measure.label} by {' '.join(chosen)}: {told}", flush=True)
    return chosen


def solve(size: Callable[[int], int], target: int, what: str) -> int:
    """The whole number of at least 1 whose size, which grows with it, is nearest to a target.

    Raises:
        UserError: no number comes near.
    """
    high = 1
    while size(high) < target and high < MOST:
        high *= 2
    low = 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if size(middle) >= target else (middle + 1, high)
    best = min((max(1, high - 1), high), key=lambda number: abs(size(number) - target))
    if abs(size(best) - target) > NEAR * target:
        raise UserError(
            f"{what}: {best} gives {size(best):,} parameters, and no number comes nearer to the "
            f"{target:,} of the arm to be matched"
        )
    return best


def _size_by(config: DictConfig, data: TextData, key: str) -> Callable[[int], int]:
    """Trained parameters as a function of a width."""

    def size(width: int) -> int:
        other = config.copy()
        OmegaConf.update(other, key, width)
        return _trained(other, data)

    return size


def _trained(config: DictConfig, data: TextData) -> int:
    with torch.device("meta"):
        return parameters(build_model(config.model, data))


def flops(job: Job, data: TextData) -> float:
    """Floating-point operations of one update: those of some sentences, scaled to the batch.

    Raises:
        UserError: the model has recurrent layers, whose operations are not seen.
    """
    model = make_model(job, data)
    if any(isinstance(module, torch.nn.RNNBase) for module in model.modules()):
        raise UserError("study.match.by=flops: operations of recurrent layers are not counted")
    batch = data.first_lines("train", SENTENCES)
    real = batch.targets != PAD
    with FlopCounterMode(display=False) as counter:
        objective, _ = model.head.score(job.loss, model(batch.inputs)[real], batch.targets[real])
        torch.autograd.backward(objective)
    return counter.get_total_flops() * job.config.batch.tokens / int(real.sum())
