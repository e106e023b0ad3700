"""Compose and check a sweep, and estimate its cost and power before it starts."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.evidence.folder import Evidence
from ablate.evidence.registration import digest
from ablate.evidence.types import Levels, Study
from ablate.phrases import name_of
from ablate.plan.noise import as_evidence, noise, of_setting
from ablate.plan.power import Sensitivity, reason, sensitivities
from ablate.plan.registry import Cost, Row, RunSignature, cost, wall
from ablate.record.types import Fingerprints
from ablate.sweep.begin import is_part
from ablate.sweep.cell import Cell, without_seed
from ablate.sweep.launch import n_jobs
from ablate.sweep.planned import Checked, PlannedSweep
from ablate.sweep.preflight import record_of, records_of
from ablate.train.budgets import shared_steps
from ablate.train.job import Job
from ablate.train.resolve import resolve

MOST_SEEDS = 1000


@dataclass(frozen=True)
class Arm:
    """The cells (runs) of a sweep that differ only in their seed.

    `done` is the number of cells that earlier runs already cover; None if the cells depend on a
    nuisance parameter that is not tuned yet. `asked` is a digest of the settings of the test (None
    without a test). `tests` is the number of training budgets, each of which is tested. `cost` is
    None if no similar run was timed.
    """

    cell: Cell
    cells: int
    done: int | None
    steps: int
    validations: int
    kin: RunSignature
    asked: str | None
    tests: int
    cost: Cost | None = None

    @property
    def name(self) -> str:
        """The overrides that all cells of the arm have, and that distinguish it from other arms."""
        return " ".join(without_seed(tuple(self.cell.label.split(" "))))

    @property
    def threads(self) -> int:
        """Number of CPU threads of a run."""
        return int(self.cell.arm.threads)

    @property
    def left(self) -> int:
        """Number of cells (runs of the sweep) that still have to run."""
        return max(0, self.cells - (self.done or 0))


@dataclass(frozen=True)
class Plan:
    """A planned sweep.

    `screening` has the arms that tune a nuisance parameter, and run first. `arms` has the arms that
    the sweep compares.
    """

    config: DictConfig
    study: Study | None
    screening: list[Arm]
    arms: list[Arm]
    seeds: int
    tuned: str  # key that is tuned, or ""
    needed: int  # bytes of disk space
    at_once: int  # number of runs that execute at the same time

    @property
    def everything(self) -> list[Arm]:
        """The arms of both stages, screening and comparison."""
        return [*self.screening, *self.arms]

    @property
    def unknown(self) -> list[Arm]:
        """Arms that still have to run and have no estimate of their time."""
        return [arm for arm in self.everything if arm.cost is None and arm.left]

    @property
    def guessed(self) -> list[Arm]:
        """Arms still to run whose time is estimated from other variants of the same size."""
        return [arm for arm in self.everything if arm.cost and arm.cost.guessed and arm.left]

    @property
    def seconds(self) -> float | None:
        """Estimated core-seconds of all runs that still have to run; None if there is no estimate
        for an arm.

        Each run counts its time multiplied by its number of threads.
        """
        estimates = (
            arm.cost.seconds * arm.left * arm.threads for arm in self.everything if arm.cost
        )
        return None if self.unknown else sum(estimates, 0.0)

    @property
    def wall(self) -> float:
        """Estimated wall time of the sweep in seconds.

        Every arm must have an estimate.
        """
        stages = (
            chain.from_iterable([arm.cost.seconds] * arm.left for arm in stage if arm.cost)
            for stage in (self.screening, self.arms)
        )
        return wall(stages, self.at_once)

    def with_seeds(self, seeds: int) -> "Plan":
        """Return the plan of the same sweep with another number of seeds."""
        factor = seeds / self.seeds
        screening, arms = (
            [replace(arm, cells=round(arm.cells * factor)) for arm in stage]
            for stage in (self.screening, self.arms)
        )
        needed = round(self.needed * factor)
        return replace(self, screening=screening, arms=arms, seeds=seeds, needed=needed)

    def within(self, minutes: int) -> int:
        """Return the largest number of seeds with which the sweep ends within `minutes`; 0 if there
        is none.
        """
        numbers, seconds = range(1, MOST_SEEDS + 1), 60.0 * minutes
        return bisect_right(numbers, seconds, key=lambda seeds: self.with_seeds(seeds).wall)


def of_cells(sweep: PlannedSweep) -> Plan:
    """Return the plan of a sweep whose cells (runs) have been composed and checked.

    The plan has no estimates of run times yet.
    """
    engine = construct(sweep.config.engine)
    tuned = sweep.tune["key"] if sweep.tune else ""
    return Plan(
        config=sweep.config,
        study=sweep.study,
        screening=_arms(sweep.screening, sweep.checked, tuned, final=True),
        arms=_arms(sweep.cells, sweep.checked, tuned, final=not tuned),
        seeds=len({cell.seed for cell in sweep.cells}),
        tuned=tuned,
        needed=sweep.checked.needed,
        at_once=engine.workers * n_jobs(sweep.config),
    )


def _arms(cells: Sequence[Cell], checked: Checked, tuned: str, *, final: bool) -> list[Arm]:
    by_arm: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        by_arm.setdefault(without_seed(cell.overrides), []).append(cell)
    return [_arm(members, checked, tuned, final=final) for members in by_arm.values()]


def _arm(cells: list[Cell], checked: Checked, tuned: str, *, final: bool) -> Arm:
    """Return cells that differ only in their seed as an arm.

    `final` is false if a nuisance parameter must be tuned before the cells can run.
    """
    first = record_of(cells[0], checked.data)
    config = first.config
    steps, budgets = _steps(config, checked.jobs.get(cells[0].number))
    tested = config.probe is None and len(config.test_splits) > 0
    return Arm(
        cell=cells[0],
        cells=len(cells),
        done=_done(cells, checked.data) if final else None,
        steps=steps,
        validations=-(-steps // config.budget.validate_every),
        kin=RunSignature.of(first.parts, tuned),
        asked=digest(first.evaluation.parts["config"]) if tested else None,
        tests=budgets,
    )


def _done(cells: list[Cell], data: dict[str, Fingerprints]) -> int:
    """Return how many cells of an arm have a finished run that the sweep would reuse."""
    config = cells[0].arm
    if config.fresh or not any(Path(config.paths.results).glob("runs/*")):
        return 0
    return sum(record.stored_result() is not None for record in records_of(cells, data))


def _steps(config: DictConfig, job: Job | None = None) -> tuple[int, int]:
    """Return the number of optimiser steps of a run, and the number of its training budgets.

    A training budget is a number of steps after which the result is taken. A run has one budget, or
    two if the study also asks about shorter training. With two budgets, the first number includes
    the steps that only the shorter training takes, for example because its learning rate decays
    earlier. A probe (a run that measures a model without training) takes no steps.

    Args:
        config: the config of the run.
        job: the job of the config, if the checks of the sweep have resolved it.
    """
    if config.probe is not None:
        return 0, 1
    steps = int(config.budget.steps)
    if config.budget.short is None:
        return steps, 1
    job = job or resolve(config)
    if job.short is None:
        return steps, 1
    return steps + job.short.config.budget.steps - shared_steps(job, job.short), 2


def priced(planned: Plan, earlier: Sequence[Row]) -> Plan:
    """Return the plan with an estimated time for every arm, from earlier runs.

    Arms that differ only in testing share one training, whose time is counted for the first of
    them. In a plan that tunes a parameter, every arm is counted with its own training.
    """
    trained: set[str] = set()

    def with_cost(arm: Arm) -> Arm:
        trains = planned.tuned != "" or arm.kin.arm not in trained
        trained.add(arm.kin.arm)
        of_arm = (arm.kin, arm.steps, arm.validations, arm.asked, earlier)
        return replace(arm, cost=cost(*of_arm, tests=arm.tests, trains=trains))

    screening, arms = ([*map(with_cost, s)] for s in (planned.screening, planned.arms))
    return replace(planned, screening=screening, arms=arms)


def claims(planned: Plan, past_rows: Sequence[Row]) -> list[Sensitivity]:
    """Return for each claim the smallest effect that the planned seeds can show (its sensitivity).

    The list is empty if the sweep has no study, or runs only a part of one, which has no verdict.
    """
    if is_part(planned.config) or (earlier := _earlier(planned, past_rows)) is None:
        return []
    regimes = {arm.kin.regime for arm in planned.arms}
    whole = (row for row in past_rows if not row.sample)
    setting = of_setting(row for row in whole if row.kin.regime in regimes)
    metrics = dict.fromkeys(claim["metric"] for claim in earlier.study["claims"])
    noises = {metric: noise(setting, metric) for metric in metrics}
    levels: list[Levels] = [arm.cell.levels for arm in planned.arms]
    return sensitivities(levels, planned.seeds, earlier, noises)


def doubts(planned: Plan, past_rows: Sequence[Row]) -> list[str]:
    """Return the claims that can have only one outcome, judging by earlier runs of their arms.

    Each claim is a text: its name, a colon and the reason.
    """
    if (earlier := _earlier(planned, past_rows)) is None:
        return []
    reasons = ((name_of(claim), reason(claim, earlier)) for claim in earlier.study["claims"])
    return [*dict.fromkeys(f"{claim}: {why}" for claim, why in reasons if why)]


def _earlier(planned: Plan, rows: Sequence[Row]) -> Evidence | None:
    """Return earlier runs of the planned arms as evidence for the study; None without a study."""
    if planned.study is None or not planned.seeds:
        return None
    arms: dict[str, list[Arm]] = {}
    for arm in planned.arms:
        arms.setdefault(arm.kin.arm, []).append(arm)
    matching = (
        (row, arm.asked or "", arm.cell.levels)
        for row in rows
        if not row.sample
        for arm in arms.get(row.kin.arm, [])
        if arm.asked is None or arm.asked in row.tested or not row.tested
    )
    return as_evidence(planned.study, matching)
