"""Run the cells of a sweep: check them all, then one clean process each, `n_jobs` at a time."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from ablate.record.links import link_path
from ablate.record.sealed import read_sealed
from ablate.study.gather import SCREENING
from ablate.sweep.cell import Cell, compose, plain_study, write_link
from ablate.sweep.pool import Pool
from ablate.sweep.tuning import WIDENINGS, screening_jobs, tuned_jobs, wider_jobs
from ablate.sweep.view import View
from ablate.sweep.without import leave_out

PRELOADED = "ablate.sweep.preloaded"  # by name, as this process can do without


def launch(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    first: int,
) -> list[JobReturn]:
    """Run every cell and return in the order of the jobs; a failed run fails alone.

    Where the study tunes a nuisance, the runs that decide its values come first; a grid is widened
    where its edge is the best.
    """
    sweep = Path(config.hydra.sweep.dir)
    pool = Pool(n_jobs(config), PRELOADED, threads=config.threads)
    tune = plain_study(config)["tune"] if config.study is not None else None
    Console(stderr=True).print(f"{config.name}: checking {len(job_overrides)} cells")
    cells, screening = _checked(context, config, job_overrides, first, tune)
    with View(config.name, len(cells) + len(screening), pool.size) as view, pool:
        if tune:
            links = _run(screening, sweep / SCREENING, context, pool, view)
            for _ in range(WIDENINGS):
                jobs, number = wider_jobs(cells, links, tune), screening[-1].number + 1
                screening += compose(context, config, jobs, number, sweep / SCREENING)
                wider = screening[len(links) :]
                view.expect(len(wider))
                links += _run(wider, sweep / SCREENING, context, pool, view)
            cells = compose(context, config, tuned_jobs(cells, links, tune), first, sweep)
        links = _run(cells, sweep, context, pool, view)
    return [_returned(cell, link) for cell, link in zip(cells, links, strict=True)]


def _checked(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    first: int,
    tune: dict[str, Any] | None,
) -> tuple[list[Cell], list[Cell]]:
    """The cells of the verdict and those that tune a nuisance, composed and sound."""
    sweep = Path(config.hydra.sweep.dir)
    without: Any = OmegaConf.to_container(config.without, resolve=True)
    cells = leave_out(compose(context, config, job_overrides, first, sweep), without)
    match = plain_study(config).get("match") if config.study is not None else None
    if match:
        from ablate.sweep.matching import matched_jobs  # torch

        cells = compose(context, config, matched_jobs(cells, match), first, sweep)
    jobs = screening_jobs(cells, tune) if tune else []
    screening = compose(context, config, jobs, first + len(job_overrides), sweep / SCREENING)
    from ablate.sweep.preflight import preflight  # torch: while the server imports it as well

    preflight(cells, screening)
    return cells, screening


def n_jobs(config: DictConfig) -> int:
    """Runs at a time: `n_jobs`, else as many as the cores allow, and one on a GPU."""
    if config.n_jobs is not None:
        return int(config.n_jobs)
    if config.trainer.accelerator in ("gpu", "cuda"):
        return 1
    devices = config.trainer.devices
    processes = devices if isinstance(devices, int) and devices > 0 else 1
    return max(1, (os.cpu_count() or 1) // (config.threads * processes))


def _run(
    cells: Sequence[Cell], sweep: Path, context: HydraContext, pool: Pool, view: View
) -> list[dict[str, Any]]:
    """Run cells and return what became of them, in their order."""
    for cell, status in pool.run(cells, context, view.started):
        _note_crash(sweep, cell, status)
        view.finished(cell.label, _found(sweep, cell))
    return [_found(sweep, cell) for cell in cells]


def _note_crash(sweep: Path, cell: Cell, status: int) -> None:
    """A process that was killed could not say what became of its cell."""
    if not link_path(sweep, cell.number).exists():
        found = {"status": "failed", "error": f"the process ended with status {status}"}
        write_link(sweep, cell.config, found)


def _found(sweep: Path, cell: Cell) -> dict[str, Any]:
    return read_sealed(link_path(sweep, cell.number))


def _returned(cell: Cell, found: dict[str, Any]) -> JobReturn:
    # Failures are in the record, not raised: Hydra would skip the end of the sweep.
    return JobReturn(
        overrides=cell.overrides, status=JobStatus.COMPLETED, _return_value=found["status"]
    )
