"""Plan a sweep whose runs have been composed and checked: what is left to run, and how long it
takes.

The seconds of a run are measured: by the newest earlier sweep of the same name in the same setting,
or by a short run (ablate.plan.sample).
"""

import statistics
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.engine import Engine
from ablate.errors import UserError
from ablate.evidence.checks import ABOUT, file_of_runs, read_parts
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import gather
from ablate.evidence.types import Levels, Run, Study
from ablate.record.types import Fingerprints
from ablate.sweep.begin import regime
from ablate.sweep.cell import Cell, without_seed
from ablate.sweep.compose import Checked, PlannedSweep
from ablate.sweep.preflight import records_of
from ablate.train.job import Job
from ablate.train.weights import shared_steps

OVERHEAD = 1.5  # wall time of a sweep without its runs, in multiples of the time of its plan


@dataclass(frozen=True)
class Arm:
    """The runs of a stage of a sweep that differ only in their seed, or in the value that tunes a
    nuisance parameter.

    Args:
        levels: the level of each factor.
        cells: the runs.
        done: number of runs whose stored result will be used again; None if the runs depend on a
            nuisance parameter that is not tuned yet.
        seconds: measured time of a run; None if no run was timed.
    """

    levels: Levels
    cells: list[Cell]
    done: int | None
    seconds: float | None

    @property
    def left(self) -> int:
        """Number of runs that still have to run."""
        return len(self.cells) - (self.done or 0)


@dataclass(frozen=True)
class Plan:
    """A planned sweep.

    Args:
        sweep: the composed runs.
        stages: the arms that tune a nuisance parameter, and then the arms of the comparison.
        seeds: number of seeds of the comparison.
        at_once: number of runs that execute at the same time.
        noise: assumed standard deviation between runs of a recipe, for a study of combinations.
        interaction: assumed standard deviation of the interaction of each two changes.
        earlier: the evidence of the newest earlier sweep of the same name in the same setting, with
            the study of this sweep.
        start: seconds in which this process has composed and checked the runs, as the sweep will.
    """

    sweep: PlannedSweep
    stages: tuple[list[Arm], list[Arm]]
    seeds: int
    at_once: int
    earlier: Evidence | None
    noise: float = 1.0
    interaction: float = 0.0
    start: float = 0.0

    @property
    def untimed(self) -> list[Arm]:
        """Arms that still have to run, and whose time is unknown."""
        return [arm for stage in self.stages for arm in stage if arm.seconds is None and arm.left]

    @property
    def wall(self) -> float | None:
        """Estimated wall time of the sweep in seconds; None if the time of a run is unknown.

        The runs of the comparison start after all runs that tune. Before the runs, the sweep does
        what this process has done. The start of worker processes and the report together take
        about half as long.
        """
        if self.untimed:
            return None
        stages = ([arm.seconds or 0.0 for arm in s for _ in range(arm.left)] for s in self.stages)
        runs = sum(max(sum(runs) / self.at_once, *runs) for runs in stages if runs)
        return OVERHEAD * self.start + runs


def plan_of(sweep: PlannedSweep) -> Plan:
    """Return the plan of a sweep whose runs have been composed and checked."""
    before, checked = earlier_sweep(sweep.config, sweep.study), sweep.checked
    tuning_runs, runs = (before.screening, before.runs) if before else ([], [])
    tuning = [*_arms(sweep.screening, checked, tuning_runs, tuned=True)]
    arms = [*_arms(sweep.cells, checked, runs, tuned=sweep.tune is None)]
    engine: Engine = construct(sweep.config.engine)
    return Plan(
        sweep,
        (tuning, arms),
        seeds=len({cell.seed for cell in sweep.cells}),
        at_once=engine.size(sweep.config),
        earlier=before,
    )


def earlier_sweep(config: DictConfig, study: Study | None) -> Evidence | None:
    """Return the evidence of the newest earlier sweep with the name and the setting of a sweep.

    Damaged sweeps are skipped. The result is None if there is no such sweep.

    Args:
        config: the config of the sweep.
        study: the study of the sweep, which replaces that of the earlier sweep.
    """
    setting = regime(config).items()
    for folder in sorted(Path(config.paths.results).glob(f"sweeps/{config.name}/*/"), reverse=True):
        with suppress(UserError):
            if (folder / ABOUT).exists() and read_parts(folder)["regime"].items() >= setting:
                saved = file_of_runs(folder).exists()
                evidence = Evidence.load(folder) if saved else gather(folder)
                return replace(evidence, study=study) if study else evidence
    return None


def _arms(
    cells: Iterable[Cell], checked: Checked, earlier: Sequence[Run], *, tuned: bool
) -> Iterable[Arm]:
    """Yield the arms of a stage.

    Args:
        cells: the runs of the stage.
        checked: the result of the checks of the sweep.
        earlier: runs of this stage of an earlier sweep.
        tuned: whether the overrides of the runs are complete, so that stored results can be found.
    """
    by_levels: dict[str, list[Cell]] = {}
    for cell in cells:
        by_levels.setdefault(str(cell.levels), []).append(cell)
    for members in by_levels.values():
        levels = members[0].levels
        times = [
            _seconds(run, checked.jobs.get(members[0].number))
            for run in earlier
            if run["levels"].items() <= levels.items() and run["status"] != "failed"
        ]
        seconds = statistics.median(times) if times else None
        done = _done(members, checked.data) if tuned else None
        yield Arm(levels, members, done, seconds)


def _seconds(run: Run, job: Job | None) -> float:
    """Return the seconds of an earlier run, including the steps that only its short budget took.

    `job` is the job of the planned run, if the checks of the sweep have resolved it.
    """
    if job is None or job.short is None or "short" not in run:
        return run["seconds"]
    alone = 1 - shared_steps(job, job.short) / job.short.config.budget.steps
    return run["seconds"] + alone * run["short"]["seconds"]


def _done(cells: Iterable[Cell], data: dict[str, Fingerprints]) -> int:
    """Return the number of runs whose stored result would be used again."""
    alike: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        if not cell.arm.fresh and any(Path(cell.arm.paths.results).glob("runs/*")):
            alike.setdefault(without_seed(cell.overrides), []).append(cell)
    records = (record for members in alike.values() for record in records_of(members, data))
    return sum(record.stored_result() is not None for record in records)
