"""A sweep, composed and checked like one that starts, with what is known of it."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.errors import UserError
from ablate.evidence.folder import Evidence, Rows
from ablate.evidence.registration import digest
from ablate.evidence.types import Levels, Run, Study
from ablate.plan.cost import Cost, cost, wall
from ablate.plan.noise import as_run, noise, statistics_of
from ablate.plan.power import Sight, reason, sights
from ablate.plan.registry import Kin, Row
from ablate.record.types import Fingerprints
from ablate.sweep.cell import Cell, plain_study, without_seed
from ablate.sweep.composed import Composed
from ablate.sweep.launch import Planned, n_jobs, plan
from ablate.sweep.preflight import record_of, records_of
from ablate.train.budgets import shared_steps
from ablate.train.resolve import resolve

MOST_SEEDS = 1000


@dataclass(frozen=True)
class Arm:
    """The cells of a sweep that differ in their seed alone.

    `done` is None where the cells are not known yet, as a nuisance is chosen first. `asked` says
    how a run is tested, None where it is not, and `tests` at how many budgets; `cost` is None where
    no run like it was timed.
    """

    cell: Cell
    cells: int
    done: int | None
    steps: int
    validations: int
    kin: Kin
    asked: str | None
    tests: int
    cost: Cost | None = None

    @property
    def name(self) -> str:
        """What its cells share and other arms do not."""
        return " ".join(without_seed(tuple(self.cell.label.split(" "))))

    @property
    def left(self) -> int:
        """Cells that are to be run."""
        return max(0, self.cells - (self.done or 0))


@dataclass(frozen=True)
class Plan:
    """What a sweep would do: first `screening`, the arms that tune a nuisance, then `arms`."""

    config: DictConfig
    screening: list[Arm]
    arms: list[Arm]
    seeds: int
    tuned: str  # the key that is chosen, or ""
    needed: int  # bytes
    at_once: int

    @property
    def everything(self) -> list[Arm]:
        """The arms of both stages."""
        return [*self.screening, *self.arms]

    @property
    def unknown(self) -> list[Arm]:
        """Arms of which nothing is known that says how long they take."""
        return [arm for arm in self.everything if arm.cost is None and arm.left]

    @property
    def guessed(self) -> list[Arm]:
        """Arms whose time is that of other variants of their size."""
        return [arm for arm in self.everything if arm.cost and arm.cost.guessed and arm.left]

    @property
    def seconds(self) -> float | None:
        """Core time of what is left to do; None where an arm is not known."""
        known = (arm.cost.seconds * arm.left for arm in self.everything if arm.cost)
        return None if self.unknown else sum(known, 0.0)

    @property
    def wall(self) -> float:
        """Seconds until the end, once all arms are known."""
        return wall(map(_each, (self.screening, self.arms)), self.at_once)

    def with_seeds(self, seeds: int) -> "Plan":
        """The same sweep with another number of seeds."""
        factor = seeds / self.seeds
        screening, arms = (
            [replace(arm, cells=round(arm.cells * factor)) for arm in stage]
            for stage in (self.screening, self.arms)
        )
        needed = round(self.needed * factor)
        return replace(self, screening=screening, arms=arms, seeds=seeds, needed=needed)

    def within(self, minutes: int) -> int:
        """The largest number of seeds whose sweep ends in so many minutes; 0 where none does."""
        numbers, seconds = range(1, MOST_SEEDS + 1), 60.0 * minutes
        return bisect_right(numbers, seconds, key=lambda seeds: self.with_seeds(seeds).wall)


def _each(arms: Sequence[Arm]) -> Iterator[float]:
    return chain.from_iterable([arm.cost.seconds] * arm.left for arm in arms if arm.cost)


def make(sweep: Composed) -> Plan:
    """Compose and check the cells of a sweep; its arms have no cost yet.

    Raises:
        UserError: something in it cannot work.
    """
    return of_cells(sweep.config, plan(sweep.context, sweep.config, sweep.jobs, 0))


def of_cells(config: DictConfig, planned: Planned) -> Plan:
    """Return the plan of cells that are composed and checked; its arms have no cost yet."""
    engine = construct(config.engine)
    tuned = planned.tune["key"] if planned.tune else ""
    return Plan(
        config=config,
        screening=_arms(planned.screening, planned, tuned, final=True),
        arms=_arms(planned.cells, planned, tuned, final=not tuned),
        seeds=len({cell.seed for cell in planned.cells}),
        tuned=tuned,
        needed=planned.checked.needed,
        at_once=engine.workers * n_jobs(config),
    )


def _arms(cells: Sequence[Cell], planned: Planned, tuned: str, *, final: bool) -> list[Arm]:
    by_arm: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        by_arm.setdefault(without_seed(cell.overrides), []).append(cell)
    data = planned.checked.data
    return [_arm(members, data, tuned, final=final) for members in by_arm.values()]


def _arm(cells: list[Cell], data: dict[str, Fingerprints], tuned: str, *, final: bool) -> Arm:
    """Return the arm of some cells; they are not `final` while a nuisance is to be chosen."""
    first = record_of(cells[0], data)
    steps, budgets = _steps(cells[0].task_config())
    tested = cells[0].config.probe is None and len(cells[0].config.test_splits) > 0
    return Arm(
        cell=cells[0],
        cells=len(cells),
        done=_done(cells, data) if final else None,
        steps=steps,
        validations=-(-steps // cells[0].config.budget.validate_every),
        kin=Kin.of(first.parts, tuned),
        asked=digest(first.evaluation.parts["config"]) if tested else None,
        tests=budgets,
    )


def _done(cells: list[Cell], data: dict[str, Fingerprints]) -> int:
    """Return how many cells of an arm have a run that a sweep would reuse."""
    config = cells[0].arm
    if config.fresh or not any(Path(config.paths.results).glob("runs/*")):
        return 0
    return sum(record.found() is not None for record in records_of(cells, data))


def _steps(config: DictConfig) -> tuple[int, int]:
    """Optimiser steps of a run and the number of its budgets; no step is taken by a probe.

    A shorter budget has steps of its own after those that both share.
    """
    if config.probe is not None:
        return 0, 1
    steps = int(config.budget.steps)
    job = None if config.budget.short is None else resolve(config)
    if job is None or job.short is None:
        return steps, 1
    return steps + job.short.config.budget.steps - shared_steps(job, job.short), 2


def priced(planned: Plan, known: Sequence[Row]) -> Plan:
    """The plan with what earlier runs say of the time of its arms.

    Arms that differ in testing alone are trained once.
    """
    trained: set[str] = set()

    def with_cost(arm: Arm) -> Arm:
        trains = planned.tuned != "" or arm.kin.arm not in trained
        trained.add(arm.kin.arm)
        found = cost(
            *(arm.kin, arm.steps, arm.validations, arm.asked, known),
            tests=arm.tests,
            trains=trains,
        )
        return replace(arm, cost=found)

    return replace(
        planned,
        screening=[*map(with_cost, planned.screening)],
        arms=[*map(with_cost, planned.arms)],
    )


def claims(planned: Plan, known: Sequence[Row]) -> list[Sight]:
    """What the claims of the study could see with these seeds; nothing without a study."""
    if planned.config.study is None or not planned.seeds:
        return []
    study = plain_study(planned.arms[0].cell.config)
    whole = [row for row in known if not row.sample]
    regimes = {arm.kin.regime for arm in planned.arms}
    same = [row for row in whole if row.kin.regime in regimes]
    metrics = {claim["metric"] for claim in study["claims"]}
    levels: list[Levels] = [arm.cell.levels for arm in planned.arms]
    earlier = _earlier(planned, study, whole)
    return sights(study, levels, planned.seeds, earlier, {m: noise(same, m) for m in metrics})


def doubts(planned: Plan, known: Sequence[Row]) -> list[str]:
    """Return the claims that earlier runs of their arms leave undecided, each with its reason."""
    if planned.config.study is None or not planned.seeds:
        return []
    study = plain_study(planned.arms[0].cell.config)
    earlier = _earlier(planned, study, [row for row in known if not row.sample])
    reasons = ((claim["id"], reason(claim, earlier)) for claim in study["claims"])
    return [*dict.fromkeys(f"{claim}: {why}" for claim, why in reasons if why)]


def _earlier(planned: Plan, study: Study, known: Sequence[Row]) -> Evidence:
    """Earlier runs of the same arms as evidence of the study."""
    arms: dict[str, list[Arm]] = {}
    for arm in planned.arms:
        arms.setdefault(arm.kin.arm, []).append(arm)
    found = [
        (row, arm)
        for row in known
        for arm in arms.get(row.kin.arm, [])
        if arm.asked is None or arm.asked in row.tested or not row.tested
    ]
    runs: list[Run] = []
    statistics: dict[str, dict[str, Rows]] = {}
    for row, arm in found:
        test = row.tested.get(arm.asked or "")
        with suppress(UserError):  # a damaged record says nothing, and its run will be repeated
            if test is not None:
                statistics[test.identity] = statistics_of(test.folder)
            runs.append({**as_run(row, arm.asked or ""), "levels": arm.cell.levels})
    return Evidence.made_up(study, runs, statistics=statistics)
