"""Check all runs of a sweep, then execute each in a new process, `n_jobs` at a time."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf

from ablate.config.construct import construct
from ablate.console import make_console
from ablate.engine.base import LOGS, Engine, elsewhere
from ablate.errors import UserError
from ablate.evidence.gather import SCREENING
from ablate.evidence.tuned import screening_seeds
from ablate.evidence.types import Levels, Study, Tune
from ablate.record.label import run_key
from ablate.sweep.apart import check_swept
from ablate.sweep.begin import register_study
from ablate.sweep.cell import Cell, Overrides, plain_study
from ablate.sweep.compose import compose
from ablate.sweep.parts import is_part, replicates, without_made
from ablate.sweep.pool import Pool
from ablate.sweep.runner import Runner
from ablate.sweep.share import alone, expect, once, state_of
from ablate.sweep.stages import analyse_and_select_arms, stages
from ablate.sweep.tuning import WIDENINGS, screening_jobs, tuned_jobs, wider_jobs
from ablate.sweep.view import View
from ablate.sweep.watch import Watch
from ablate.sweep.without import leave_out

if TYPE_CHECKING:
    from ablate.sweep.preflight import Checked

REPORT = "report.md"  # report of committed evidence, in its folder
# a name rather than an import, because this process does not need the module
PRELOADED = "ablate.sweep.preloaded"


def launch(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    first: int,
    before: "Callable[[DictConfig, Planned], None]",
) -> list[JobReturn]:
    """Execute every run of a sweep with the workers of the config's `engine` (local, Slurm or Ray),
    and return a completed Hydra job for each run.

    A failed run does not affect the other runs; its error is in the file of its outcome. The same
    command on other machines joins the sweep, and may execute some or all of the runs.

    Args:
        context: Hydra's context.
        config: the config of the sweep.
        job_overrides: the overrides of each run.
        first: number of the first run.
        before: called with the config and the checked runs before the first run starts.

    Raises:
        UserError: a run is invalid, or the workers of the engine ended before the sweep.
        SystemExit: other workers hold the remaining runs, and this worker may not wait.
    """
    engine: Engine = construct(config.engine)
    console = make_console(stderr=True)
    if (committed := Path(config.paths.experiments) / config.name / REPORT).exists():
        text = f"{committed} has the committed verdicts; this sweep uses none of their runs"
        console.print(f"{config.name}: {text}", soft_wrap=True)
    console.print(f"{config.name}: checking {len(job_overrides)} runs")
    pool = Pool(n_jobs(config), PRELOADED, threads=config.threads)
    if engine.works_here:
        pool.prepare()
    planned = plan(context, config, job_overrides, first)
    register_study(config, planned.study)
    before(config, planned)

    def here() -> None:
        _work(context, config, planned, pool, stay=engine.stay)

    sweep = Path(config.hydra.sweep.dir)
    command = elsewhere(sys.argv[1:], sweep)
    if engine.works_here:
        engine.work(here, command, sweep)
    else:
        every = (*planned.screening, *planned.cells)
        print(f"{config.name}: {engine.workers} workers, logs in {sweep / LOGS}", file=sys.stderr)
        labels = {cell.number: cell.label for cell in every}
        with View(config.name, len(every), works_here=False) as view, Watch(view, sweep, labels):
            engine.work(here, command, sweep)
    _check_end(config)
    # Failures are stored rather than raised: otherwise Hydra would skip the end of the sweep.
    return [JobReturn(overrides=c.overrides, status=JobStatus.COMPLETED) for c in planned.cells]


class Planned(NamedTuple):
    """The composed and checked runs of a sweep: the runs for the verdict (`cells`), and the runs
    that tune a nuisance parameter (`screening`).
    """

    cells: list[Cell]
    screening: list[Cell]
    study: Study | None
    checked: "Checked"
    seeds: dict[int, int]  # by seed: the seed of its tuning runs; empty without tuning

    @property
    def tune(self) -> Tune | None:
        """The study's settings for tuning a nuisance parameter; None if nothing is tuned."""
        return self.study.get("tune") if self.study else None


def plan(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    first: int,
) -> Planned:
    """Compose and check all runs of a sweep.

    Raises:
        UserError: a run, or the combination of runs, is invalid.
    """
    study = plain_study(config) if config.study is not None else None
    sweep = Path(config.hydra.sweep.dir)
    without: Any = OmegaConf.to_container(config.without, resolve=True)
    cells = compose(context, config, job_overrides, count(first), sweep)
    if study is not None:
        check_swept(job_overrides, study)
    cells = leave_out(cells, without)
    match = study.get("match") if study else None
    if match:
        from ablate.sweep.matching import matched_jobs  # imports torch

        numbers = [cell.number for cell in cells]
        jobs = matched_jobs(cells, match)
        cells = compose(context, config, jobs, numbers, sweep)
    tune = study.get("tune") if study else None
    seeds = screening_seeds(replicates(config, cells), tune) if tune else {}
    cells = without_made(config, study, cells)
    jobs = screening_jobs(cells, tune, seeds) if tune else []
    after = count(first + len(job_overrides))
    varied = tune["key"] if tune else ""
    screening = compose(context, config, jobs, after, sweep / SCREENING, varied)
    # here, because it imports torch, and the server imports torch at the same time
    from ablate.sweep.preflight import preflight

    return Planned(cells, screening, study, preflight(cells, screening), seeds)


def _work(
    context: HydraContext, config: DictConfig, planned: Planned, pool: Pool, *, stay: bool
) -> None:
    """Execute the runs of a sweep in this worker process, with the planned interim analyses."""
    cells = planned.cells
    with View(config.name, len(cells) + len(planned.screening)) as view, pool:
        runner = Runner(context, config, pool, view, planned.checked.data, stay)
        # a part of a study has no interim analyses
        waves = [cells] if is_part(config) else stages(cells, planned.study)
        n_executed = Worker(runner, planned).run_stages(waves)
    with alone(config):
        expect(config, n_executed)


@dataclass(frozen=True)
class Worker:
    """A worker process that executes a sweep in stages, with a planned interim analysis after each
    stage except the last.

    Decisions that all workers must share are made by the first worker that needs them.
    """

    runner: Runner
    planned: Planned

    @property
    def sweep(self) -> Path:
        """The folder with the outcomes of the runs."""
        return Path(self.runner.config.hydra.sweep.dir)

    def run_stages(self, waves: Sequence[Sequence[Cell]]) -> int:
        """Execute the stages one after the other, and return the number of runs that were executed.

        Args:
            waves: the runs of each stage.
        """
        tune = self.planned.tune
        each = 1 + len(tune["values"]) if tune else 1
        arms = [cell.levels for cell in self.planned.cells]
        n_executed = 0
        for number, stage in enumerate(waves):
            wanted = [cell for cell in stage if cell.levels in arms]
            self.runner.view.expect(-each * (len(stage) - len(wanted)))
            if wanted:
                self.run(number, wanted)
                n_executed += len(wanted)
                arms = self.look(number) if stage is not waves[-1] else arms
        return n_executed

    def run(self, number: int, cells: Sequence[Cell]) -> None:
        """Execute the runs of a stage; if the study tunes a nuisance parameter, tune it for these
        runs first.

        A stage has the runs between two planned interim analyses.

        Args:
            number: number of the stage.
            cells: the runs of the stage.
        """
        tune = self.planned.tune
        wanted = self._tuned(number, cells, tune) if tune else cells
        self.runner.all(wanted)

    def look(self, number: int) -> list[Levels]:
        """Analyse all finished runs, and return the levels of the arms that continue.

        Args:
            number: number of the interim analysis.
        """
        config, path = self.runner.config, self.sweep / f"look-{number}.json"
        going: list[Levels]
        going = once(config, path, lambda: analyse_and_select_arms(config, self.sweep))
        return going

    def _tuned(self, number: int, cells: Sequence[Cell], tune: Tune) -> list[Cell]:
        folder = self.sweep / SCREENING
        path = folder / f"chosen-{number}.json"
        again = not path.exists()
        seeds = self.planned.seeds
        asked = {run_key(cell.levels, seeds[cell.seed]) for cell in cells}
        every = self.planned.screening
        wanted = [cell for cell in every if run_key(cell.levels, cell.seed) in asked]
        links = self.runner.all(wanted, again=again)
        for turn in range(WIDENINGS):
            wider = self._wider(turn, wider_jobs(cells, links, tune, seeds))
            links += self.runner.all(wider, again=again)
        jobs = once(self.runner.config, path, lambda: tuned_jobs(cells, links, tune, seeds))
        numbers = [cell.number for cell in cells]
        return compose(self.runner.context, self.runner.config, jobs, numbers, self.sweep)

    def _wider(self, turn: int, jobs: dict[int, Overrides]) -> list[Cell]:
        """Return additional runs for tuning, with numbers on which all workers agree.

        Args:
            turn: number of earlier extensions of the grid of values.
            jobs: the overrides of each additional run, by the number of the run that it helps to
                tune.
        """
        screening = self.planned.screening
        first, last = screening[0].number, screening[-1].number
        numbers = [last + 1 + turn * first + number for number in jobs]
        self.runner.view.expect(len(jobs))
        folder = self.sweep / SCREENING
        return compose(self.runner.context, self.runner.config, [*jobs.values()], numbers, folder)


def _check_end(config: DictConfig) -> None:
    """Raise UserError if remote workers ended before all runs were done."""
    state = state_of(Path(config.hydra.sweep.dir))
    if state is None or state["cells"] is None:
        raise UserError(
            "the workers ended before all cells were done: start the same command again to "
            f"continue; the workers' output is in {Path(config.hydra.sweep.dir) / LOGS}"
        )


def n_jobs(config: DictConfig) -> int:
    """Return the number of simultaneous runs: `n_jobs` of the config if it is set; else 1 if the
    config requests a GPU, or accepts one and there is one; else the number of cores divided by the
    cores of a run, at least 1.
    """
    if config.n_jobs is not None:
        return int(config.n_jobs)
    from ablate.record.identity import device_kind  # imports torch

    if config.trainer.accelerator in ("gpu", "cuda") or device_kind(config) != "cpu":
        return 1
    devices = config.trainer.devices
    processes = devices if isinstance(devices, int) and devices > 0 else 1
    return max(1, (os.cpu_count() or 1) // (config.threads * processes))
