"""Define the planned runs of a sweep, from which it is registered, priced and executed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hydra.types import HydraContext
from omegaconf import DictConfig

from ablate.evidence.looks import arms_of
from ablate.evidence.types import Study, Tune
from ablate.record.types import Fingerprints
from ablate.sweep.cell import Cell

if TYPE_CHECKING:  # torch, which --help does not need
    from ablate.train.job import Job


class Checked(NamedTuple):
    """The result of the checks before a sweep.

    Args:
        data: hashes of the data, by the key that `corpus` returns for a config.
        needed: disk space in bytes that the sweep needs.
        jobs: the job of the first run of every arm, by the number of this run.
    """

    data: dict[str, Fingerprints]
    needed: int
    jobs: "Mapping[int, Job]"


@dataclass(frozen=True)
class PlannedSweep:
    """The composed runs of a sweep, and the result of their checks.

    Args:
        context: Hydra's context.
        config: the config of the sweep, with Hydra's node.
        study: the study in this config; None without a study.
        composed: the runs of the command, including runs that exist elsewhere, before arms are
            matched.
        cells: the runs for the verdict.
        screening: the runs that tune a nuisance parameter.
        seeds: maps each seed of the verdict to the seed of its tuning runs; empty if nothing is
            tuned.
        checked: the result of the checks; empty before they are made.
    """

    context: HydraContext
    config: DictConfig
    study: Study | None
    composed: list[Cell]
    cells: list[Cell]
    screening: list[Cell]
    seeds: dict[int, int]
    checked: Checked = Checked({}, 0, {})

    @property
    def tune(self) -> Tune | None:
        """The study's settings for tuning a nuisance parameter; None if nothing is tuned."""
        return self.study.get("tune") if self.study else None

    @property
    def is_part(self) -> bool:
        """Whether the sweep has only some of the seeds or arms of its study."""
        if self.study is None:
            return False
        arms = [arm.items() for claim in self.study["claims"] for arm in arms_of(claim)]
        levels = [cell.levels.items() for cell in self.composed]
        left_out = any(not any(of_cell >= arm for of_cell in levels) for arm in arms)
        return left_out or len({cell.seed for cell in self.composed}) < self.study["seeds"]

    @property
    def folder(self) -> Path:
        """The folder with the outcomes of the runs."""
        return Path(self.config.hydra.sweep.dir)
