"""Choose the value of a key for every arm before its runs: match arms in size, or tune a nuisance
parameter.

`study.match` gives `key`, a width, the integer with which an arm has nearly as many trained
parameters as the reference arm, which `to` names.

`study.tune` chooses the value of a nuisance parameter, such as the learning rate, by validation
scores. The parameter is tuned anew for every seed of the verdict, by runs with a separate seed, one
run per value. So the interval over seeds includes the variation of this choice. If an arm were
tuned once for all seeds, identical arms would differ significantly in up to 20 % of sweeps rather
than 5 % (docs/explanation/calibration.md).
"""

import dataclasses
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from omegaconf import OmegaConf

from ablate.config.study import Match, Tune
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.evidence.gather import SCREENING, curve_of
from ablate.evidence.outcome import Run, threshold, value
from ablate.evidence.registration import has_order
from ablate.record.results import Outcome, run_key, value_text
from ablate.sweep.cell import Cell, Overrides, without_seed
from ablate.sweep.compose import compose
from ablate.train.job import Job, build_model, parameters, prepare_data
from ablate.train.resolve import resolve

if TYPE_CHECKING:
    from ablate.sweep.launch import Worker

MOST = 2**17  # largest possible width
NEAR = 0.01  # allowed relative deviation of the number of parameters
# maximum number of extensions of the grid of values for a seed whose best value is at the edge
WIDENINGS = 2
DIGITS = 3  # significant digits of an added value
UNTESTED = "test_splits=[]"  # screening runs are not tested


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
            solved[pair] = () if cell is reference else _width_override(cell, reference, match)
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


def _width_override(cell: Cell, reference: Cell, match: Match) -> Overrides:
    job, other = (resolve(arm.task_config()) for arm in (cell, reference))
    data, target = prepare_data(job), _trained(other, prepare_data(other))

    def size(width: int) -> int:
        config = job.config.copy()
        OmegaConf.update(config, match["key"], width)
        return _trained(dataclasses.replace(job, config=config), data)

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


def _trained(job: Job, data: TextData) -> int:
    with torch.device("meta"):
        return parameters(build_model(job, data))


def screening_jobs(cells: Sequence[Cell], tune: Tune, seeds: dict[int, int]) -> list[Overrides]:
    """Return the overrides of the runs that tune: a run for every value, arm and seed.

    The runs are validated but never tested, because no choice may depend on a test. If the study
    has two budgets, the runs use the short budget.

    Args:
        cells: the runs for the verdict.
        tune: the study's settings for tuning.
        seeds: for each seed of the verdict, the seed of the runs that tune.

    Raises:
        UserError: a seed of the verdict would be used for tuning as well.
    """
    shared = seeds.keys() & {*seeds.values()}
    if shared:
        raise UserError(
            f"study.tune.seeds={tune['seeds']}: seed {min(shared)} is also used for the verdict; "
            f"choose others ({len(seeds)} are needed, counted on from the largest)"
        )
    return [_job(cell, tune, value, seeds) for cell in cells for value in tune["values"]]


def _job(cell: Cell, tune: Tune, chosen: Any, seeds: dict[int, int]) -> Overrides:
    """Return the overrides of a tuning run, which tries the value `chosen` of the tuned parameter.

    The tuning run has the arm of `cell`, a run for the verdict, but another seed. It has the short
    training budget, if there is one, and it is not tested.
    """
    short = OmegaConf.select(cell.arm, "budget.short")
    budget = (f"budget.steps={short}", "budget.short=null") if short else ()
    seed = f"seed={seeds[cell.seed]}"
    arm = without_seed(cell.overrides)
    return (*arm, f"{tune['key']}={value_text(chosen)}", seed, UNTESTED, *budget)


def tuned_runs(worker: "Worker", number: int, cells: Sequence[Cell], tune: Tune) -> list[Cell]:
    """Tune the nuisance parameter for the runs of a stage, and return these runs with the chosen
    values.

    Args:
        worker: executes the runs that tune.
        number: number of the stage.
        cells: the runs of the stage.
        tune: the study's settings for tuning.
    """
    sweep = worker.sweep
    seeds, screening, folder = sweep.seeds, sweep.screening, sweep.folder / SCREENING
    path = folder / f"chosen-{number}.json"
    again = not path.exists()
    asked = {run_key(cell.levels, seeds[cell.seed]) for cell in cells}
    outcomes = worker.run([c for c in screening if run_key(c.levels, c.seed) in asked], again)
    for turn in range(WIDENINGS):
        wider = wider_jobs(cells, outcomes, tune, seeds)
        # numbers on which all workers agree
        after = screening[-1].number + 1 + turn * screening[0].number
        worker.work.total += len(wider)
        if wider:
            worker.work.write(
                f"{tune['key']}: an end of the list was best, so {len(wider)} runs go beyond it"
            )
        jobs, numbers = [*wider.values()], [after + number for number in wider]
        outcomes += worker.run(compose(sweep.context, sweep.config, jobs, numbers, folder), again)
    jobs = worker.decide_once(path, lambda: tuned_jobs(cells, outcomes, tune, seeds))
    numbers = [cell.number for cell in cells]
    return compose(sweep.context, sweep.config, jobs, numbers, sweep.folder)


def wider_jobs(
    cells: Sequence[Cell], outcomes: Sequence[Outcome], tune: Tune, seeds: dict[int, int]
) -> dict[int, Overrides]:
    """Return the overrides of runs that extend the grid of values, for each run for the verdict
    whose best value is at an edge of the grid.

    The grid continues with the ratio of the two values at this edge. It is not extended if it has
    words, values that are not positive, or fewer than two values.

    Args:
        cells: the runs for the verdict.
        outcomes: the outcomes of the runs that tuned so far.
        tune: the study's settings for tuning.
        seeds: for each seed of the verdict, the seed of the runs that tune.

    Returns:
        overrides of each new run, by the number of the run for the verdict that it helps to tune.
    """
    choices = _choose_all(cells, outcomes, tune, seeds)
    after = ((cell, _beyond(best, values)) for cell, best, values in choices)
    return {cell.number: _job(cell, tune, new, seeds) for cell, new in after if new is not None}


def tuned_jobs(
    cells: Sequence[Cell], outcomes: Sequence[Outcome], tune: Tune, seeds: dict[int, int]
) -> list[Overrides]:
    """Return the overrides of each run for the verdict, followed by its tuned value.

    The arguments are those of `wider_jobs`.
    """
    choices = _choose_all(cells, outcomes, tune, seeds)
    return [(*cell.overrides, f"{tune['key']}={value_text(best)}") for cell, best, _ in choices]


def _choose_all(
    cells: Sequence[Cell], outcomes: Sequence[Outcome], tune: Tune, seeds: dict[int, int]
) -> Iterator[tuple[Cell, Any, list[Any]]]:
    """Yield each run for the verdict with its best value and with all values that were tried."""
    tried: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        tried.setdefault(run_key(outcome["levels"], outcome["seed"]), []).append(outcome)
    for cell in cells:
        of_cell = tried.get(run_key(cell.levels, seeds[cell.seed]), [])
        yield cell, choose(of_cell, tune, cell), [outcome["tuned"]["value"] for outcome in of_cell]


def _beyond(best: Any, values: Sequence[Any]) -> int | float | None:
    """Return the next value beyond the edge of the grid at which the best value lies; a whole
    number if all values are whole numbers.

    The result is None if the best value is not at an edge, or if the grid cannot be extended.
    """
    if len(values) < 2 or not has_order(values) or min(values) <= 0:
        return None
    up = sorted(values)
    neighbours = {up[-1]: up[-2], up[0]: up[1]}
    if best not in neighbours:
        return None
    after = best * best / neighbours[best]
    whole = all(isinstance(value, int) for value in values)
    rounded = round(after) if whole else float(f"{after:.{DIGITS}g}")
    return rounded if rounded > 0 and rounded not in values else None


def choose(outcomes: Sequence[Outcome], tune: Tune, cell: Cell) -> Any:
    """Return the value of the tuned parameter with the best metric, among the runs that tried
    values.

    Args:
        outcomes: outcomes of the runs that tried values.
        tune: the study's settings for tuning.
        cell: the run for which the value is chosen, for the message.

    Raises:
        UserError: none of these runs has a result.
    """
    scores = {
        run["tuned"]["value"]: _score(run, tune) for run in outcomes if run["status"] != "failed"
    }
    if not scores:
        errors = [outcome["error"] for outcome in outcomes if "error" in outcome]
        raise UserError(f"study.tune: every screening run of {cell.label} failed: {errors[:1]}")
    best = max if tune["better"] == "higher" else min
    return best(scores, key=lambda chosen: scores[chosen])


def _score(outcome: Outcome, tune: Tune) -> float:
    """Return the score of a tuning run; an infinitely bad score if the run has none because it
    diverged.
    """
    curve = curve_of(Path(outcome["folder"])) if threshold(tune["metric"]) else {}
    try:
        return value(cast(Run, {**outcome, "curve": curve}), tune["metric"])
    except KeyError:
        return -math.inf if tune["better"] == "higher" else math.inf
