"""Run the cells of a sweep: check them all, then one clean process each, `n_jobs` at a time."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from ablate.config.construct import construct
from ablate.engine.base import Engine, elsewhere
from ablate.errors import UserError
from ablate.study.gather import SCREENING
from ablate.sweep.cell import Cell, compose, plain_study
from ablate.sweep.pool import Pool
from ablate.sweep.runner import Runner
from ablate.sweep.share import alone, expect, once, state_of
from ablate.sweep.tuning import screening_jobs, tuned_jobs
from ablate.sweep.view import View
from ablate.sweep.without import leave_out

if TYPE_CHECKING:
    from ablate.sweep.preflight import Checked

PRELOADED = "ablate.sweep.preloaded"  # by name, as this process can do without
CHOSEN = "chosen.json"  # the overrides of the cells of the verdict, where a nuisance is tuned


def launch(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    first: int,
) -> list[JobReturn]:
    """Have every cell run, by the workers of the engine; a failed run fails alone.

    Other workers of the sweep may run some of the cells, or all of them.

    Raises:
        UserError: the workers of the engine are gone, and the sweep has not ended.
        SystemExit: this worker may not wait for what others hold.
    """
    engine: Engine = construct(config.engine)
    Console(stderr=True).print(f"{config.name}: checking {len(job_overrides)} cells")
    pool = Pool(n_jobs(config), PRELOADED, threads=config.threads)
    if engine.works_here:
        pool.prepare()
    planned = plan(context, config, job_overrides, first)

    def here() -> None:
        _work(context, config, planned, pool, stay=engine.stay)

    sweep = Path(config.hydra.sweep.dir)
    engine.work(here, elsewhere(sys.argv[1:], sweep), sweep)
    _check_end(config)
    # Failures are in the record, not raised: Hydra would skip the end of the sweep.
    return [JobReturn(overrides=c.overrides, status=JobStatus.COMPLETED) for c in planned.cells]


class Planned(NamedTuple):
    """The cells of the verdict and those that tune a nuisance, composed and sound."""

    first: int  # number of the first cell
    cells: list[Cell]
    screening: list[Cell]
    tune: dict[str, Any] | None
    checked: "Checked"


def plan(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    first: int,
) -> Planned:
    """Compose and check all cells of a sweep.

    Raises:
        UserError: what is wrong with one of them, or with all together.
    """
    tune = plain_study(config)["tune"] if config.study is not None else None
    sweep = Path(config.hydra.sweep.dir)
    without: Any = OmegaConf.to_container(config.without, resolve=True)
    cells = leave_out(compose(context, config, job_overrides, first, sweep), without)
    jobs = screening_jobs(cells, tune) if tune else []
    screening = compose(context, config, jobs, first + len(job_overrides), sweep / SCREENING)
    from ablate.sweep.preflight import preflight  # torch: while the server imports it as well

    return Planned(first, cells, screening, tune, preflight(cells, screening))


def _work(
    context: HydraContext, config: DictConfig, planned: Planned, pool: Pool, *, stay: bool
) -> None:
    """Run cells as one worker, until all of them are done.

    Where the study tunes a nuisance, the runs that decide its values come first.
    """
    cells, sweep = planned.cells, Path(config.hydra.sweep.dir)
    with View(config.name, len(cells) + len(planned.screening), pool.size) as view, pool:
        runner = Runner(context, config, pool, view, planned.checked.data, stay)
        if planned.tune:
            jobs = _tuned(runner, planned, planned.tune)
            cells = compose(context, config, jobs, planned.first, sweep)
        runner.all(cells)
    with alone(config):
        expect(config, len(cells))


def _tuned(runner: Runner, planned: Planned, tune: dict[str, Any]) -> list[list[str]]:
    """Overrides of the cells of the verdict, as the first worker that got here has chosen them."""
    kept = Path(runner.config.hydra.sweep.dir) / SCREENING / CHOSEN
    links = runner.all(planned.screening, again=not kept.exists())
    jobs: list[list[str]] = once(
        runner.config, kept, lambda: tuned_jobs(planned.cells, links, tune)
    )
    return jobs


def _check_end(config: DictConfig) -> None:
    """Raise UserError where workers that ran elsewhere have left cells."""
    state = state_of(Path(config.hydra.sweep.dir)) or {}
    if state.get("cells") is None:
        raise UserError(
            "the workers are gone, and cells are left: the same command goes on with them"
        )


def n_jobs(config: DictConfig) -> int:
    """Runs at a time: `n_jobs`, else as many as the cores allow, and one on a GPU."""
    if config.n_jobs is not None:
        return int(config.n_jobs)
    if config.trainer.accelerator in ("gpu", "cuda"):
        return 1
    devices = config.trainer.devices
    processes = devices if isinstance(devices, int) and devices > 0 else 1
    return max(1, (os.cpu_count() or 1) // (config.threads * processes))
