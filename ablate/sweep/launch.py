"""Check all runs of a sweep, execute them with an engine, and wait for runs that other processes
execute.

The same command may be started several times on a results folder. Each process is a worker of the
sweep, and takes runs that no other worker has. All workers execute the same stages in the same
order. A stage has the runs between two planned interim analyses. It is complete when all its runs
are done by any worker. Decisions that all workers must share are made by the first worker that
needs them.
"""

import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.types import HydraContext
from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.console import Work, make_console
from ablate.engine import Engine
from ablate.errors import UserError
from ablate.evidence.gather import SCREENING, gather
from ablate.evidence.log import looked
from ablate.evidence.registration import planned_looks, shared_seeds
from ablate.evidence.types import Levels, Study, Tune
from ablate.record.identity import source_hash
from ablate.record.results import Link, executed_source, read_link, run_key
from ablate.sweep.begin import alone, conclude, once, register_study
from ablate.sweep.cell import Cell, RunTask, fail
from ablate.sweep.compose import PlannedSweep, compose
from ablate.sweep.runs import plan_runs
from ablate.sweep.tuning import WIDENINGS, tuned_jobs, wider_jobs
from ablate.verdict.conclude import needed


def launch(context: HydraContext, config: DictConfig, jobs: Sequence[Sequence[str]]) -> None:
    """Execute every run of a sweep with the config's `engine` (local, Slurm or Ray), and end the
    sweep: judge its runs and write its report.

    A failed run does not affect the other runs; its error is in the file of its outcome. The same
    command on other machines joins the sweep, and may execute some or all of the runs.

    Args:
        context: Hydra's context.
        config: the config of the sweep.
        jobs: the overrides of each run.

    Raises:
        UserError: a run is invalid.
        SystemExit: a run failed.
    """
    # at the end of the block below, runs save their state
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    engine: Engine = construct(config.engine)
    console = make_console(stderr=True)
    console.print(f"{config.name}: checking {len(jobs)} runs")
    with engine.started(config):  # first, because it takes seconds in the background
        sweep = plan_runs(context, config, jobs)
        register_study(sweep)
        # a part of a study has no interim analyses
        waves = [sweep.cells] if sweep.is_part else stages(sweep.cells, sweep.study)
        total = len(sweep.cells) + len(sweep.screening)
        with Work(config.name, total, shown=console.is_terminal) as work:
            n_executed = Worker(sweep, engine, work).run_stages(waves)
    if conclude(config, n_executed):
        sys.exit(1)


def stages(cells: Sequence[Cell], study: Study | None) -> list[list[Cell]]:
    """Return the runs of each stage of a sweep, that is, the runs before each planned interim
    analysis.

    Every stage has some of the seeds, in ascending order, with all arms, and as large a part of the
    seeds that only the baseline has. Without a planned interim analysis there is one stage with all
    runs.
    """
    ends = planned_looks(study) if study else [0]
    seeds = sorted(shared_seeds(((cell.levels, cell.seed) for cell in cells), study))
    further = sorted({cell.seed for cell in cells}.difference(seeds))
    numbers = {seed: i * len(seeds) // len(further) for i, seed in enumerate(further)}
    numbers |= {seed: i for i, seed in enumerate(seeds)}
    place = {seed: sum(number >= end for end in ends[:-1]) for seed, number in numbers.items()}
    by_stage: list[list[Cell]] = [[] for _ in ends]
    for cell in cells:
        by_stage[place[cell.seed]].append(cell)
    return [stage for stage in by_stage if stage]


def check_source(link: Link) -> None:
    """Raise UserError if a run executed other source than this process read when the sweep began.

    Runs of a sweep are separate processes, so they would execute changed files.
    """
    pairs = executed_source(link)
    changed = sorted({name for name, source in pairs if source_hash(name) != source})
    if changed:
        raise UserError(
            f"{', '.join(changed)}: the source has changed since the sweep began, so its runs "
            "could not be compared: start the same command again"
        )


@dataclass(frozen=True)
class Worker:
    """A worker process of a sweep.

    Args:
        sweep: the sweep.
        engine: the engine that executes the runs.
        work: the display of the progress.
    """

    sweep: PlannedSweep
    engine: Engine
    work: Work

    def run_stages(self, waves: Sequence[Sequence[Cell]]) -> int:
        """Execute the stages one after the other, and return the number of runs that were executed.

        Args:
            waves: the runs of each stage.
        """
        tune = self.sweep.tune
        each = 1 + len(tune["values"]) if tune else 1
        arms = [cell.levels for cell in self.sweep.cells]
        n_executed = 0
        for number, stage in enumerate(waves):
            wanted = [cell for cell in stage if cell.levels in arms]
            self.work.expect(-each * (len(stage) - len(wanted)))
            if wanted:
                self.run(self.tuned(number, wanted, tune) if tune else wanted)
                n_executed += len(wanted)
                arms = self.look(number) if stage is not waves[-1] else arms
        return n_executed

    def look(self, number: int) -> list[Levels]:
        """Analyse all finished runs, add this analysis to the analysis log, and return the levels
        of the arms that continue.

        Args:
            number: number of the interim analysis.
        """
        folder, results = self.sweep.folder, Path(self.sweep.config.paths.results)
        going: list[Levels] = once(
            self.sweep.config,
            folder / f"look-{number}.json",
            lambda: needed(looked(results, folder, gather(folder))),
        )
        return going

    def tuned(self, number: int, cells: Sequence[Cell], tune: Tune) -> list[Cell]:
        """Tune the nuisance parameter for the runs of a stage, and return these runs with the
        chosen values.

        Args:
            number: number of the stage.
            cells: the runs of the stage.
            tune: the study's settings for tuning.
        """
        context, config, seeds = self.sweep.context, self.sweep.config, self.sweep.seeds
        folder, screening = self.sweep.folder / SCREENING, self.sweep.screening
        path = folder / f"chosen-{number}.json"
        again = not path.exists()
        asked = {run_key(cell.levels, seeds[cell.seed]) for cell in cells}
        links = self.run([c for c in screening if run_key(c.levels, c.seed) in asked], again)
        for turn in range(WIDENINGS):
            wider = wider_jobs(cells, links, tune, seeds)
            # numbers on which all workers agree
            after = screening[-1].number + 1 + turn * screening[0].number
            self.work.expect(len(wider))
            jobs, numbers = [*wider.values()], [after + number for number in wider]
            links += self.run(compose(context, config, jobs, numbers, folder), again)
        jobs = once(config, path, lambda: tuned_jobs(cells, links, tune, seeds))
        return compose(context, config, jobs, [cell.number for cell in cells], self.sweep.folder)

    def run(self, cells: Sequence[Cell], again: bool = True) -> list[Link]:
        """Execute some runs, wait until all are done by any worker, and return their outcomes in
        the order of `cells`.

        Args:
            cells: the runs.
            again: whether to retry runs that failed earlier.
        """
        with alone(self.sweep.config):
            for cell in cells:
                if not self._outcome_is_valid(cell, again=again):
                    cell.link.unlink()
        while True:
            for cell, here in self._as_completed(cells):
                self._show(cell, here=here)
            with suppress(FileNotFoundError):  # another worker is retrying a failed cell
                return [read_link(cell.link) for cell in cells]

    def _show(self, cell: Cell, *, here: bool) -> None:
        """Print the outcome of a run; `here` is true if this process executed it."""
        link = read_link(cell.link)
        self.work.advance()
        how = "reused" if link.get("reused") else link["status"]
        detail = link.get("error") or f"{link['wall_seconds']:.0f} s"
        where = "" if here else " (earlier, or another worker)"
        line = f"{self.work.done}/{self.work.total} {cell.label}: {how}, {detail}{where}"
        make_console(stderr=True).print(line, soft_wrap=True)
        check_source(link)

    def _as_completed(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, bool]]:
        """Execute the runs, and yield each run that is done, and whether this worker executed it.

        A run that another worker holds is submitted again.
        """
        waiting, running = deque(cells), list[tuple[Any, Cell]]()
        size = self.engine.size(self.sweep.config)
        while waiting or running:
            while waiting and len(running) < size:
                cell = waiting.popleft()
                if cell.link.exists():
                    yield cell, False
                else:
                    running.append((self.engine.submit(RunTask(self.sweep.context, cell)), cell))
            ended = [(job, cell) for job, cell in running if job.done()]
            running = [each for each in running if each not in ended]
            for job, cell in ended:
                here = bool(job.exception() or job.result())
                if here and not cell.link.exists():
                    fail(cell, str(job.exception() or "the process was interrupted"))
                if cell.link.exists():
                    yield cell, here
                else:
                    waiting.append(cell)
            if not ended:
                time.sleep(self.engine.poll_seconds)

    def _outcome_is_valid(self, cell: Cell, *, again: bool) -> bool:
        """Return whether a run has no stored outcome, or an outcome that is valid for its present
        config.

        If the result is False, the caller removes the outcome, so that the run is repeated.

        Args:
            cell: the run.
            again: whether the stored outcome of a failed run must be removed.
        """
        # here, because it imports torch, and the server imports torch at the same time
        from ablate.sweep.preflight import records_of

        try:
            link = read_link(cell.link)
        except FileNotFoundError:
            return True
        if link["status"] == "failed":
            return not again
        result = next(records_of([cell], self.sweep.checked.data)).stored_result()
        return result is not None and result["identity"] == link["identity"]
