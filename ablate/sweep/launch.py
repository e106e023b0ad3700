"""Check all runs of a sweep, execute them with an engine, wait for runs that other processes
execute, and end the sweep: print its table and, if it has a study, its verdicts and its report.

The same command may be started several times on a results folder. Each process is a worker of the
sweep, and takes runs that no other worker has. All workers execute the same stages in the same
order. A stage has the runs between two planned interim analyses. It is complete when all its runs
are done by any worker. Decisions that all workers must share are made by the first worker that
needs them.

Smoke tests (scale=smoke) and parts of a study (with some of its runs) have no verdict.
"""

import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from hydra.types import HydraContext
from omegaconf import DictConfig
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ablate.config import NO_VERDICT, SMOKE
from ablate.config.construct import construct
from ablate.config.study import Levels
from ablate.engine import Engine
from ablate.errors import UserError, make_console, progress
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import gather
from ablate.evidence.log import add_analysis
from ablate.evidence.outcome import NOT_LEARNED, PROBE, STATUSES, Row, rows
from ablate.metric import NOTHING
from ablate.phrases import counted
from ablate.record.files import read_sealed, seal, write_json, write_text
from ablate.record.identity import source_hash
from ablate.record.results import Outcome, executed_source, read_outcome, read_outcomes
from ablate.sweep.begin import STATE, decide_once, lock_sweeps, register_study
from ablate.sweep.cell import Cell, RunTask, write_failure
from ablate.sweep.compose import PlannedSweep, stages
from ablate.sweep.runs import plan_runs
from ablate.verdict.conclude import arms_to_continue
from ablate.verdict.types import Verdict

PART = (
    "This sweep has only some of the planned seeds or variants, so it has no verdict. Its results "
    "were seen, so they count as an interim analysis. For the verdict, repeat the command with all "
    "seeds and variants (stored runs are reused), or join the folders of all parts (ablate join)"
)
NOT_LEARNED_SCORES = (
    "A run that diverged or collapsed counts with BLEU 0 and the nll of a unigram model."
)
IN_FILE_ONLY = ("test/bleu_tokenised", "test/chrf", "test/length_ratio", "test/calibration_error")
# columns that the terminal shows only if a value is not 0
COUNTS = (*STATUSES[1:], "reused", "learning rate")
ARM = 18  # maximum number of letters per line of an arm's name in a terminal
FILE_WIDTH = 140  # width of a table in a file or a pipe


def launch(context: HydraContext, config: DictConfig, jobs: Sequence[Sequence[str]]) -> None:
    """Execute every run of a sweep with the config's `engine` (local, Slurm or Ray), and end the
    sweep; `jobs` has the overrides of each run.

    A failed run does not affect the other runs; its error is in the file of its outcome. The same
    command on other machines joins the sweep, and may execute some or all of the runs.

    Raises:
        UserError: a run is invalid.
        SystemExit: a run failed.
    """
    # at the end of the block below, runs save their state
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    engine: Engine = construct(config.engine)
    print(f"{config.name}: checking {len(jobs)} runs", file=sys.stderr)
    with engine.session(config):  # first, because it takes seconds in the background
        sweep = plan_runs(context, config, jobs)
        register_study(sweep)
        # a part of a study has no interim analyses
        waves = [sweep.cells] if sweep.is_part else stages(sweep.cells, sweep.study)
        total = len(sweep.cells) + len(sweep.screening)
        with progress(config.name, total, shown=sys.stderr.isatty()) as work:
            n_executed = Worker(sweep, engine, work).run_stages(waves)
    if end_once(config, n_executed):
        sys.exit(1)


def check_source(outcome: Outcome) -> None:
    """Raise UserError if a run executed other source than this process read when the sweep began.

    Runs of a sweep are separate processes, so they would execute changed files.
    """
    pairs = executed_source(outcome)
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
        work: the display of the progress, of tqdm.
    """

    sweep: PlannedSweep
    engine: Engine
    work: Any

    def run_stages(self, waves: Sequence[Sequence[Cell]]) -> int:
        """Execute the runs of each stage, one stage after the other, and return their number."""
        tune = self.sweep.tune
        each = 1 + len(tune["values"]) if tune else 1
        arms = [cell.levels for cell in self.sweep.cells]
        n_executed = 0
        for number, stage in enumerate(waves):
            wanted = [cell for cell in stage if cell.levels in arms]
            self.work.total -= each * (len(stage) - len(wanted))
            if wanted and tune:
                from ablate.sweep.adjust import tuned_runs  # imports torch

                wanted = tuned_runs(self, number, wanted, tune)
            if wanted:
                self.run(wanted)
                n_executed += len(wanted)
                arms = self.analyse(number) if stage is not waves[-1] else arms
        return n_executed

    def analyse(self, number: int) -> list[Levels]:
        """Analyse all finished runs, add this analysis to the analysis log, and return the levels
        of the arms that continue; `number` is the number of the stage.
        """
        folder, results = self.sweep.folder, Path(self.sweep.config.paths.results)
        going: list[Levels] = self.decide_once(
            folder / f"look-{number}.json",
            lambda: arms_to_continue(add_analysis(results, folder, gather(folder))),
        )
        return going

    def decide_once(self, path: Path, decide: Callable[[], Any]) -> Any:
        """Return a decision of the first worker that needs it, which the file `path` stores."""
        return decide_once(self.sweep.config, path, decide)

    def run(self, cells: Sequence[Cell], retry_failed: bool = True) -> list[Outcome]:
        """Execute the runs that no other worker executes, wait until all runs in `cells` have
        ended, and return their outcomes in the order of `cells`.

        With `retry_failed`, runs that failed earlier are repeated.
        """
        with lock_sweeps(self.sweep.config):
            for cell in cells:
                if not self._outcome_is_valid(cell, retry_failed=retry_failed):
                    cell.outcome_path.unlink()
        while True:
            for cell, here in self._as_completed(cells):
                self._show(cell, here=here)
            with suppress(FileNotFoundError):  # another worker is retrying a failed cell
                return [read_outcome(cell.outcome_path) for cell in cells]

    def _show(self, cell: Cell, *, here: bool) -> None:
        """Print the outcome of a run; `here` is true if this process executed it."""
        outcome = read_outcome(cell.outcome_path)
        self.work.update()
        how = "reused" if outcome.get("reused") else outcome["status"]
        detail = outcome.get("error") or f"{outcome['wall_seconds']:.0f} s"
        where = "" if here else " (earlier, or another worker)"
        line = f"{self.work.n}/{self.work.total} {cell.label}: {how}, {detail}{where}"
        self.work.write(line, file=sys.stderr)
        check_source(outcome)

    def _as_completed(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, bool]]:
        """Execute the runs, and yield each run that is done, and whether this worker executed it.

        A run that another worker holds is submitted again.
        """
        waiting, running = deque(cells), list[tuple[Any, Cell]]()
        size = self.engine.size(self.sweep.config)
        while waiting or running:
            while waiting and len(running) < size:
                cell = waiting.popleft()
                if cell.outcome_path.exists():
                    yield cell, False
                else:
                    running.append((self.engine.submit(RunTask(self.sweep.context, cell)), cell))
            ended = [(job, cell) for job, cell in running if job.done()]
            running = [each for each in running if each not in ended]
            for job, cell in ended:
                here = bool(job.exception() or job.result())
                if here and not cell.outcome_path.exists():
                    write_failure(cell, str(job.exception() or "the process was interrupted"))
                if cell.outcome_path.exists():
                    yield cell, here
                else:
                    waiting.append(cell)
            if not ended:
                time.sleep(self.engine.poll_seconds)

    def _outcome_is_valid(self, cell: Cell, *, retry_failed: bool) -> bool:
        """Return whether a run has no stored outcome, or an outcome that is valid for its present
        config.

        With `retry_failed`, the outcome of a failed run is not valid.
        """
        # here, because it imports torch, and the server imports torch at the same time
        from ablate.sweep.preflight import records_of

        try:
            outcome = read_outcome(cell.outcome_path)
        except FileNotFoundError:
            return True
        if outcome["status"] == "failed":
            return not retry_failed
        result = next(records_of([cell], self.sweep.checked.data)).stored_result()
        return result is not None and result["identity"] == outcome["identity"]


def end_once(config: DictConfig, cells: int) -> int:
    """End the sweep in exactly one worker, and return the number of failed runs.

    The result is 0 if the sweep cannot end yet, because fewer than `cells` runs are done.
    """
    folder = Path(config.hydra.sweep.dir)
    with lock_sweeps(config):
        state = read_sealed(folder / STATE)
        if state["failed"] is not None:
            print(f"Another worker has ended this sweep; its verdicts are in {folder}.")
        elif len(list((folder / "cells").glob("*.json"))) < cells:
            print("Another worker is retrying failed cells and will end the sweep.")
        else:
            state["failed"] = report_sweep(config)
            write_json(folder / STATE, seal(state))
    return int(state["failed"] or 0)


def report_sweep(config: DictConfig) -> int:
    """Print the table of a sweep, judge its claims, write its report, and return the number of
    failed runs.
    """
    from pandas import DataFrame  # takes half a second

    from ablate.report.content import announce_report, markdown

    sweep = Path(config.hydra.sweep.dir)
    evidence, console = gather(sweep), make_console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    asked = {claim["metric"] for claim in evidence.study["claims"]}
    arms = rows(evidence.runs, asked)
    if not evidence.study.get("design"):  # an arm of a study of combinations has many levels
        console.print(as_rich(evidence.name, arms, asked))
    write_text(sweep / "table.md", markdown(DataFrame(arms)))
    if any(run["status"] in NOT_LEARNED for run in evidence.runs):
        console.print(NOT_LEARNED_SCORES, soft_wrap=True)
    if config.study is not None and evidence.regime["scale"] == SMOKE:
        console.print(f"\n{NO_VERDICT}.", soft_wrap=True)
    elif config.study is not None:
        if verdict := _judge(config, evidence):
            announce_report(console, evidence, verdict, sweep)
        else:
            console.print(f"\n{PART}", soft_wrap=True)
    failed = Counter(run["error"] for run in evidence.runs if run["status"] == "failed")
    for error, count in failed.items():
        console.print(f"failed: {counted(count, 'run')}: {error}", style="red", soft_wrap=True)
    console.print(f"table, verdicts and records of all runs: {sweep}", soft_wrap=True)
    if config.logger is not None:
        for sentence in filter(None, _about_loggers(sweep)):
            console.print(sentence, style="yellow", soft_wrap=True)
    return failed.total()


def _about_loggers(sweep: Path) -> Iterator[str]:
    """Yield a warning for each distinct message about a failed logger in the runs of a sweep, how
    many runs are not logged because they were reused, and how to upload runs that W&B lacks.
    """
    from ablate.wandb.connection import advise_sync

    outcomes = [outcome for outcome in read_outcomes(sweep) if "folder" in outcome]
    sentences = Counter(line for run in outcomes for line in {*run.get("logger_failures", [])})
    for sentence, count in sentences.items():
        yield f"warning: in {count} of {len(outcomes)} runs {sentence}; their records are complete"
    if reused := sum(run.get("reused", False) for run in outcomes):
        yield f"{counted(reused, 'reused run')} not logged again; fresh=true trains and logs all"
    yield advise_sync(sweep)


def _judge(config: DictConfig, evidence: Evidence) -> Verdict | None:
    """Write the evidence, the verdicts and the report of a sweep, record the analysis in the
    analysis log and in W&B, and return the verdicts.

    The result is None for a part of a study, which has no verdict and no report.
    """
    from ablate.report.write import write_report  # imports matplotlib

    sweep = Path(config.hydra.sweep.dir)
    if not evidence.study.get("exploratory"):
        evidence = add_analysis(Path(config.paths.results), sweep, evidence)
    evidence.save(sweep)
    if evidence.is_part:
        return None
    verdict = write_report(evidence, sweep)
    if config.logger is not None:
        from ablate.wandb.analysis import log_analysis  # imports W&B

        log_analysis(config, evidence, verdict, sweep)
    return verdict


def as_rich(title: str, table_rows: list[Row], asked: Collection[str] = ()) -> Table:
    """Return the table of arms for a terminal, which has fewer columns than the Markdown file.

    If there are claims, whose metrics are `asked`, the table leaves out all other metrics that come
    from a probe (a measurement of an untrained model).
    """
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0)
    )
    names = [name for name in table_rows[0] if _is_shown(name, table_rows, asked)]
    for name in names:
        words = " ".join(row[name] for row in table_rows).split()
        table.add_column(
            name,
            justify="left" if name == "arm" else "right",
            overflow="fold",
            min_width=max(map(len, words)),  # narrow terminals break lines between words
            no_wrap=name == "arm",  # wrapped below, because rich would crop the last column
        )
    for row in table_rows:
        arm = fill(row["arm"], ARM, break_long_words=False, break_on_hyphens=False)
        # Text, because a label such as callbacks=[early_stopping] would be read as markup
        table.add_row(*(Text(arm if name == "arm" else row[name]) for name in names))
    return table


def _is_shown(name: str, table_rows: list[Row], asked: Collection[str]) -> bool:
    if name in COUNTS:
        return any(row[name] not in ("0", NOTHING) for row in table_rows)
    return name in asked or not (name in IN_FILE_ONLY or (asked and name.startswith(PROBE)))
