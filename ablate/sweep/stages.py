"""Divide a sweep with planned interim analyses into stages, and analyse a finished stage."""

from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from ablate.evidence.earlier_sweeps import looked
from ablate.evidence.gather import gather
from ablate.evidence.looks import planned_looks
from ablate.evidence.types import Levels, Study
from ablate.sweep.cell import Cell
from ablate.verdict.stages import needed


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


def analyse_and_select_arms(config: DictConfig, sweep: Path) -> list[Levels]:
    """Analyse the finished runs of a sweep, add this analysis to the analysis log, and return the
    levels of the arms that continue.
    """
    return needed(looked(Path(config.paths.results), sweep, gather(sweep)))
