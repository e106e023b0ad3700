"""Divide a sweep with planned interim analyses into stages, and run one stage after the other."""

from collections.abc import Callable, Sequence
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


def run_stages(
    waves: Sequence[Sequence[Cell]],
    run: Callable[[int, list[Cell]], object],
    look: Callable[[int], list[Levels]],
    leave_out: Callable[[int], object],
) -> list[Cell]:
    """Execute the stages of a sweep one after the other, and return the runs that were executed.

    A stage has the runs before a planned interim analysis.

    Args:
        waves: the runs of each stage.
        run: executes runs, given the number of the stage and the runs.
        look: analyses the runs up to a stage, and returns the levels of the arms that continue.
        leave_out: called for each stage with the number of its runs that are not executed.
    """
    going = [cell.levels for stage in waves for cell in stage]
    ran: list[Cell] = []
    for number, stage in enumerate(waves):
        wanted = [cell for cell in stage if cell.levels in going]
        leave_out(len(stage) - len(wanted))
        if wanted:
            run(number, wanted)
            ran += wanted
            going = look(number) if stage is not waves[-1] else going
    return ran


def analyse_and_select_arms(config: DictConfig, sweep: Path) -> list[Levels]:
    """Analyse the finished runs of a sweep, add this analysis to the analysis log, and return the
    levels of the arms that continue.
    """
    return needed(looked(Path(config.paths.results), sweep, gather(sweep)))
