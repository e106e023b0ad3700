"""Run the cells of a sweep: check them all, then one clean process each, `n_jobs` at a time."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
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
from ablate.sweep.stages import going_on, in_turn, stages
from ablate.sweep.tuning import screening_jobs, screening_seeds, tuned_jobs
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

    Where the study tunes a nuisance, the runs that decide its values come first. Where it has
    planned looks, a stage waits for the one before; arms that nothing needs any more do not run.
    """
    study = plain_study(config) if config.study is not None else None
    pool = Pool(n_jobs(config), PRELOADED, threads=config.threads)
    Console(stderr=True).print(f"{config.name}: checking {len(job_overrides)} cells")
    tune = study["tune"] if study else None
    cells, screening = _checked(context, config, job_overrides, first, tune)
    with View(config.name, len(cells) + len(screening), pool.size) as view, pool:
        run = Runner(context, config, pool, view)
        each = 1 + len(tune["values"]) if tune else 1
        in_turn(
            stages(cells, study),
            lambda wanted: run.tuned(wanted, cells, screening, tune) if tune else run.all(wanted),
            lambda: going_on(config, run.sweep),
            lambda left: view.leave_out(each * left),
        )
    return [_returned(cell, run.sweep) for cell in cells]


@dataclass(frozen=True)
class Runner:
    """Runs cells of one sweep."""

    context: HydraContext
    config: DictConfig
    pool: Pool
    view: View

    @property
    def sweep(self) -> Path:
        """The folder that the ends of the cells are noted in."""
        return Path(self.config.hydra.sweep.dir)

    def all(self, cells: Sequence[Cell]) -> list[dict[str, Any]]:
        """Run cells and return what became of them, in their order."""
        folders = [Path(cell.config.hydra.sweep.dir) for cell in cells]
        for cell, status in self.pool.run(cells, self.context, self.view.started):
            folder = Path(cell.config.hydra.sweep.dir)
            _note_crash(folder, cell, status)
            self.view.finished(cell.label, _found(folder, cell))
        return [_found(folder, cell) for folder, cell in zip(folders, cells, strict=True)]

    def tuned(
        self,
        cells: Sequence[Cell],
        every: Sequence[Cell],
        screening: Sequence[Cell],
        tune: dict[str, Any],
    ) -> None:
        """Run what chooses the nuisance of these cells, then the cells with it."""
        seeds = screening_seeds(every, tune)
        asked = [(cell.levels, seeds[cell.config.seed]) for cell in cells]
        links = self.all([one for one in screening if (one.levels, one.config.seed) in asked])
        jobs = tuned_jobs(cells, links, tune, seeds)
        numbers = [cell.number for cell in cells]
        self.all(compose(self.context, self.config, jobs, numbers, self.sweep))


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
    cells = leave_out(compose(context, config, job_overrides, count(first), sweep), without)
    match = plain_study(config).get("match") if config.study is not None else None
    if match:
        from ablate.sweep.matching import matched_jobs  # torch

        numbers = [cell.number for cell in cells]
        cells = compose(context, config, matched_jobs(cells, match), numbers, sweep)
    jobs = screening_jobs(cells, tune) if tune else []
    after = count(first + len(job_overrides))
    screening = compose(context, config, jobs, after, sweep / SCREENING)
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


def _note_crash(sweep: Path, cell: Cell, status: int) -> None:
    """A process that was killed could not say what became of its cell."""
    if not link_path(sweep, cell.number).exists():
        found = {"status": "failed", "error": f"the process ended with status {status}"}
        write_link(sweep, cell.config, found)


def _found(sweep: Path, cell: Cell) -> dict[str, Any]:
    return read_sealed(link_path(sweep, cell.number))


def _returned(cell: Cell, sweep: Path) -> JobReturn:
    # Failures are in the record, not raised: Hydra would skip the end of the sweep.
    ended = link_path(sweep, cell.number).exists()
    status = _found(sweep, cell)["status"] if ended else "not needed"
    return JobReturn(overrides=cell.overrides, status=JobStatus.COMPLETED, _return_value=status)
