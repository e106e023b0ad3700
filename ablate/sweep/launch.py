"""Run the cells of a sweep: check them all, then one clean process each, `n_jobs` at a time."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from ablate.study.gather import SCREENING
from ablate.sweep.cell import Cell, compose, plain_study
from ablate.sweep.pool import Pool
from ablate.sweep.share import alone, expect, once
from ablate.sweep.stage import Link, Stages
from ablate.sweep.tuning import screening_jobs, tuned_jobs
from ablate.sweep.view import View
from ablate.sweep.without import leave_out

PRELOADED = "ablate.sweep.preloaded"  # by name, as this process can do without
CHOSEN = "chosen.json"  # the overrides of the cells of the verdict, where a nuisance is tuned


def launch(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    first: int,
) -> list[JobReturn]:
    """Run every cell and return in the order of the jobs; a failed run fails alone.

    Where the study tunes a nuisance, the runs that decide its values come first. Other workers of
    the sweep may run some of the cells, or all of them.
    """
    sweep = Path(config.hydra.sweep.dir)
    pool = Pool(n_jobs(config), PRELOADED, threads=config.threads)
    tune = plain_study(config)["tune"] if config.study is not None else None
    Console(stderr=True).print(f"{config.name}: checking {len(job_overrides)} cells")
    cells, screening, data = _checked(context, config, job_overrides, first, tune)
    with View(config.name, len(cells) + len(screening), pool.size) as view, pool:
        stages = Stages(context, pool, view, data)
        if tune:
            jobs = _tuned(config, stages, cells, screening, tune)
            cells = compose(context, config, jobs, first, sweep)
        links = stages.run(config, cells, sweep)
    with alone(config):
        expect(config, len(cells))
    return [_returned(cell, link) for cell, link in zip(cells, links, strict=True)]


def _tuned(
    config: DictConfig,
    stages: Stages,
    cells: Sequence[Cell],
    screening: Sequence[Cell],
    tune: dict[str, Any],
) -> list[list[str]]:
    """Overrides of the cells of the verdict, as the first worker that got here has chosen them."""
    folder = Path(config.hydra.sweep.dir) / SCREENING
    links = stages.run(config, screening, folder, again=not (folder / CHOSEN).exists())
    jobs: list[list[str]] = once(config, folder / CHOSEN, lambda: tuned_jobs(cells, links, tune))
    return jobs


def _checked(
    context: HydraContext,
    config: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    first: int,
    tune: dict[str, Any] | None,
) -> tuple[list[Cell], list[Cell], dict[str, str]]:
    """The cells of the verdict and those that tune a nuisance, composed and sound.

    With them, the fingerprints of their data (`ablate.sweep.preflight`).
    """
    sweep = Path(config.hydra.sweep.dir)
    without: Any = OmegaConf.to_container(config.without, resolve=True)
    cells = leave_out(compose(context, config, job_overrides, first, sweep), without)
    jobs = screening_jobs(cells, tune) if tune else []
    screening = compose(context, config, jobs, first + len(job_overrides), sweep / SCREENING)
    from ablate.sweep.preflight import preflight  # torch: while the server imports it as well

    return cells, screening, preflight(cells, screening)


def n_jobs(config: DictConfig) -> int:
    """Runs at a time: `n_jobs`, else as many as the cores allow, and one on a GPU."""
    if config.n_jobs is not None:
        return int(config.n_jobs)
    if config.trainer.accelerator in ("gpu", "cuda"):
        return 1
    devices = config.trainer.devices
    processes = devices if isinstance(devices, int) and devices > 0 else 1
    return max(1, (os.cpu_count() or 1) // (config.threads * processes))


def _returned(cell: Cell, link: Link) -> JobReturn:
    # Failures are in the record, not raised: Hydra would skip the end of the sweep.
    return JobReturn(
        overrides=cell.overrides, status=JobStatus.COMPLETED, _return_value=link["status"]
    )
