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
from ablate.study.tuned import screening_seeds
from ablate.sweep.cell import Cell, Overrides, compose, plain_study
from ablate.sweep.pool import Pool
from ablate.sweep.share import alone, expect, once
from ablate.sweep.stage import Stages
from ablate.sweep.stages import going_on, in_turn, stages
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
    where its edge is the best. Where it has planned looks, a stage waits for the one before; arms
    that nothing needs any more do not run. Other workers of the sweep may run some of the cells, or
    all of them.
    """
    study = plain_study(config) if config.study is not None else None
    pool = Pool(n_jobs(config), PRELOADED, threads=config.threads)
    Console(stderr=True).print(f"{config.name}: checking {len(job_overrides)} cells")
    tune = study["tune"] if study else None
    cells, screening, data = _checked(context, config, job_overrides, first, tune)
    with View(config.name, len(cells) + len(screening), pool.size) as view, pool:
        runs = Stages(context, pool, view, data)
        worker = Worker(context, config, view, runs, tune, cells, screening)
        each = 1 + len(tune["values"]) if tune else 1
        waves = stages(cells, study)
        ran = in_turn(waves, worker.run, worker.look, lambda left: view.leave_out(each * left))
    with alone(config):
        expect(config, len(ran))
    return [_returned(cell, worker.sweep) for cell in cells]


@dataclass(frozen=True)
class Worker:
    """Runs the stages of a sweep; what they have to agree on, the first of its workers decides."""

    context: HydraContext
    config: DictConfig
    view: View
    stages: Stages
    tune: dict[str, Any] | None
    cells: Sequence[Cell]
    screening: Sequence[Cell]

    @property
    def sweep(self) -> Path:
        """The folder that the ends of the cells are noted in."""
        return Path(self.config.hydra.sweep.dir)

    def run(self, number: int, cells: Sequence[Cell]) -> None:
        """Have the cells of a stage done; what chooses a nuisance for them comes first."""
        wanted = self._tuned(number, cells, self.tune) if self.tune else cells
        self.stages.run(self.config, wanted, self.sweep)

    def look(self, number: int) -> list[dict[str, Any]]:
        """Look at the runs up to a stage; return the levels of the arms that go on."""
        path = self.sweep / f"look-{number}.json"
        going: list[dict[str, Any]]
        going = once(self.config, path, lambda: going_on(self.config, self.sweep))
        return going

    def _tuned(self, number: int, cells: Sequence[Cell], tune: dict[str, Any]) -> list[Cell]:
        folder = self.sweep / SCREENING
        path = folder / f"chosen-{number}.json"
        again = not path.exists()
        seeds = screening_seeds((cell.config.seed for cell in self.cells), tune)
        asked = [(cell.levels, seeds[cell.config.seed]) for cell in cells]
        wanted = [one for one in self.screening if (one.levels, one.config.seed) in asked]
        links = self.stages.run(self.config, wanted, folder, again=again)
        for turn in range(WIDENINGS):
            wider = self._wider(turn, wider_jobs(cells, links, tune, seeds))
            links += self.stages.run(self.config, wider, folder, again=again)
        jobs = once(self.config, path, lambda: tuned_jobs(cells, links, tune, seeds))
        numbers = [cell.number for cell in cells]
        return compose(self.context, self.config, jobs, numbers, self.sweep)

    def _wider(self, turn: int, jobs: dict[int, Overrides]) -> list[Cell]:
        """The screening cells of a turn, with the same numbers in every worker."""
        first, last = self.screening[0].number, self.screening[-1].number
        numbers = [last + 1 + turn * first + number for number in jobs]
        self.view.expect(len(jobs))
        folder = self.sweep / SCREENING
        return compose(self.context, self.config, [*jobs.values()], numbers, folder)


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


def _returned(cell: Cell, sweep: Path) -> JobReturn:
    # Failures are in the record, not raised: Hydra would skip the end of the sweep.
    path = link_path(sweep, cell.number)
    status = read_sealed(path)["status"] if path.exists() else "not needed"
    return JobReturn(overrides=cell.overrides, status=JobStatus.COMPLETED, _return_value=status)
