"""The stages of a sweep with planned looks: which cells each of them runs."""

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
    """Cells by the look that waits for them: of each arm the first seeds, then the next ones."""
    ends = planned_looks(study) if study else [0]
    seeds = sorted({cell.seed for cell in cells})
    place = {seed: sum(number >= end for end in ends[:-1]) for number, seed in enumerate(seeds)}
    found: list[list[Cell]] = [[] for _ in ends]
    for cell in cells:
        found[place[cell.seed]].append(cell)
    return [stage for stage in found if stage]


def in_turn(
    waves: Sequence[Sequence[Cell]],
    run: Callable[[int, list[Cell]], object],
    look: Callable[[int], list[Levels]],
    leave_out: Callable[[int], object],
) -> list[Cell]:
    """Run stage after stage, by number; a look after each but the last says which arms go on.

    Returns the cells that were run.
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


def going_on(config: DictConfig, sweep: Path) -> list[Levels]:
    """Look at the runs that have ended, and return the levels of the arms that go on."""
    return needed(looked(Path(config.paths.results), sweep, gather(sweep)))
