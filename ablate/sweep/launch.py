"""Check all runs of a sweep, then execute each in a new process, `n_jobs` at a time."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.console import make_console
from ablate.engine.base import LOGS, Engine, elsewhere
from ablate.errors import UserError
from ablate.sweep.begin import register_study
from ablate.sweep.planned import PlannedSweep
from ablate.sweep.pool import Pool
from ablate.sweep.runs import plan_runs
from ablate.sweep.share import state_of
from ablate.sweep.view import View, watching
from ablate.sweep.worker import work

REPORT = "report.md"  # report of committed evidence, in its folder


def launch(
    context: HydraContext,
    config: DictConfig,
    jobs: Sequence[Sequence[str]],
    before: Callable[[PlannedSweep], None],
) -> list[JobReturn]:
    """Execute every run of a sweep with the workers of the config's `engine` (local, Slurm or Ray),
    and return a completed Hydra job for each run.

    A failed run does not affect the other runs; its error is in the file of its outcome. The same
    command on other machines joins the sweep, and may execute some or all of the runs.

    Args:
        context: Hydra's context.
        config: the config of the sweep.
        jobs: the overrides of each run.
        before: called with the checked runs before the first run starts.

    Raises:
        UserError: a run is invalid, or the workers of the engine ended before the sweep.
        SystemExit: other workers hold the remaining runs, and this worker may not wait.
    """
    engine: Engine = construct(config.engine)
    console = make_console(stderr=True)
    if (committed := Path(config.paths.experiments) / config.name / REPORT).exists():
        text = f"{committed} has the committed verdicts; this sweep uses none of their runs"
        console.print(f"{config.name}: {text}", soft_wrap=True)
    console.print(f"{config.name}: checking {len(jobs)} runs")
    pool = Pool(n_jobs(config), threads=config.threads)
    if engine.works_here:
        pool.prepare()
    sweep = plan_runs(context, config, jobs)
    register_study(sweep)
    before(sweep)

    def here() -> None:
        work(sweep, pool, stay=engine.stay)

    command = elsewhere(sys.argv[1:], sweep.folder)
    if engine.works_here:
        engine.work(here, command, sweep.folder)
    else:
        labels = {cell.number: cell.label for cell in (*sweep.screening, *sweep.cells)}
        logs = sweep.folder / LOGS
        print(f"{config.name}: {engine.workers} workers, logs in {logs}", file=sys.stderr)
        with (
            View(config.name, len(labels), works_here=False) as view,
            watching(view, sweep.folder, labels),
        ):
            engine.work(here, command, sweep.folder)
    _check_end(config)
    # Failures are stored rather than raised: otherwise Hydra would skip the end of the sweep.
    return [JobReturn(overrides=c.overrides, status=JobStatus.COMPLETED) for c in sweep.cells]


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

    if config.trainer.get("accelerator") in ("gpu", "cuda") or device_kind(config) != "cpu":
        return 1
    devices = config.trainer.get("devices")
    processes = devices if isinstance(devices, int) and devices > 0 else 1
    return max(1, (os.cpu_count() or 1) // (config.threads * processes))
