"""Run the cells of a sweep as one of its workers, and wait for cells that other workers run.

All workers execute the same stages in the same order. A stage has the runs between two planned
interim analyses. It is complete when all its cells are done by any worker. Decisions that all
workers must share are made by the first worker that needs them.
"""

import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.gather import SCREENING, gather
from ablate.evidence.history import looked
from ablate.evidence.looks import planned_looks
from ablate.evidence.types import Levels, Study, Tune
from ablate.record.label import run_key
from ablate.record.links import executed_source
from ablate.record.sealed import read_sealed
from ablate.record.source import source_hash
from ablate.record.types import Link, OutcomeBase
from ablate.sweep.cell import Cell, write_link
from ablate.sweep.compose import compose
from ablate.sweep.planned import PlannedSweep
from ablate.sweep.pool import CellQueue, Pool
from ablate.sweep.share import alone, expect, once
from ablate.sweep.tuning import WIDENINGS, tuned_jobs, wider_jobs
from ablate.sweep.view import View
from ablate.verdict.stages import needed

# Exit statuses of a run that was interrupted: it has saved its state, and did not fail.
INTERRUPTED = {end for n in (signal.SIGTERM, signal.SIGINT) for end in (128 + n, -n)}


def work(sweep: PlannedSweep, pool: Pool, *, stay: bool) -> None:
    """Execute the runs of a sweep in this worker process, with the planned interim analyses.

    Args:
        sweep: the sweep.
        pool: the processes of the runs.
        stay: whether to wait for runs that other workers hold, rather than to exit.

    Raises:
        SystemExit: other workers hold the remaining runs, and this worker may not wait.
    """
    # a part of a study has no interim analyses
    waves = [sweep.cells] if sweep.is_part else stages(sweep.cells, sweep.study)
    with View(sweep.config.name, len(sweep.cells) + len(sweep.screening)) as view, pool:
        n_executed = Worker(sweep, pool, view, stay).run_stages(waves)
    expect(sweep.config, n_executed)


def stages(cells: Sequence[Cell], study: Study | None) -> list[list[Cell]]:
    """Return the runs of each stage of a sweep, that is, the runs before each planned interim
    analysis.

    Every stage has some of the seeds, in ascending order, with all arms. Without a planned interim
    analysis there is one stage with all runs.
    """
    ends = planned_looks(study) if study else [0]
    seeds = sorted({cell.seed for cell in cells})
    place = {seed: sum(number >= end for end in ends[:-1]) for number, seed in enumerate(seeds)}
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

    Without `stay`, the worker exits when other workers hold all remaining runs of a stage.
    """

    sweep: PlannedSweep
    pool: Pool
    view: View
    stay: bool

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
            self.view.expect(-each * (len(stage) - len(wanted)))
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
            self.view.expect(len(wider))
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

        Raises:
            SystemExit: other workers hold the remaining runs, and this worker may not wait.
        """
        stale = [cell for cell in cells if not self._outcome_is_valid(cell, again=again)]
        if stale:
            with alone(self.sweep.config):
                for cell in stale:
                    cell.link.unlink(missing_ok=True)
        while True:
            self._execute(cells)
            with suppress(FileNotFoundError):  # another worker is retrying a failed cell
                return [read_sealed(cell.link) for cell in cells]

    def _execute(self, cells: Sequence[Cell]) -> None:
        queue = CellQueue(cells)
        ends = self.pool.run(queue, self.sweep.context, self.view.started, stay=self.stay)
        for cell, status in ends:
            if status in INTERRUPTED and not cell.link.exists():
                self.view.interrupted()
                continue
            if status is not None and not cell.link.exists():  # the process was killed
                error = f"the process ended with status {status}"
                failure: OutcomeBase = {"status": "failed", "error": error}
                write_link(Path(cell.arm.hydra.sweep.dir), cell.config, failure)
            link = read_sealed(cell.link)
            self.view.finished(cell.label, link, here=status is not None)
            check_source(link)
        if queue.open:
            print(f"Other workers are running the last {queue.open} cells and will end the sweep.")
            sys.exit(0)

    def _outcome_is_valid(self, cell: Cell, *, again: bool) -> bool:
        """Return whether a run has no stored outcome, or an outcome that is valid for its present
        config.

        If the result is False, the caller removes the outcome, so that the run is repeated.

        Args:
            cell: the run.
            again: whether the stored outcome of a failed run must be removed.
        """
        # here, because it imports torch, and the server imports torch at the same time
        from ablate.sweep.preflight import record_of

        try:
            link: Link = read_sealed(cell.link)
        except FileNotFoundError:
            return True
        except UserError as error:
            print(f"{error}: the run will be repeated", flush=True)
            return False
        if link["status"] == "failed":
            return not again
        result = record_of(cell, self.sweep.checked.data).stored_result()
        return result is not None and result["identity"] == link["identity"]
