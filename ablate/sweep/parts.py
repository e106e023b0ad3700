"""Parts of a study: sweeps that leave evidence for `ablate join`, and no verdict.

`part=true` says that a sweep makes a part; so does `without_runs=PIECE`, with which it leaves out
the runs that other parts have.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ablate.errors import UserError
from ablate.evidence.join import Piece, replicate
from ablate.evidence.registration import registration_hash
from ablate.evidence.types import Study
from ablate.sweep.asked import asked, planned_seeds
from ablate.sweep.begin import regime
from ablate.sweep.cell import Cell


def is_part(config: DictConfig) -> bool:
    """Whether a sweep makes a part of a study."""
    return bool(config.part or pieces(config))


def pieces(config: DictConfig) -> list[Path]:
    """Return the folders of the pieces whose runs a sweep leaves out.

    Raises:
        UserError: `without_runs` is neither a folder nor a list of them.
    """
    given: Any = config.without_runs
    if OmegaConf.is_config(given):
        given = OmegaConf.to_container(given, resolve=True)
    folders = [given] if isinstance(given, str) else given
    if not isinstance(folders, list) or not all(isinstance(one, str) for one in folders):
        raise UserError(
            f"without_runs={given}: it must be a folder with evidence, or [FOLDER,FOLDER]"
        )
    return [Path(one).expanduser() for one in folders]


def replicates(config: DictConfig, cells: Sequence[Cell]) -> set[int]:
    """Return the seeds among which each replicate has its place; in a part all that are planned.

    A nuisance is tuned with a seed that follows from this place, so that a run of a part is the
    same as in a sweep of the whole study.
    """
    seeds = {cell.seed for cell in cells}
    return seeds.union(planned_seeds(config)) if is_part(config) else seeds


def without_made(config: DictConfig, study: Study | None, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells whose runs no piece in `without_runs` has.

    Raises:
        UserError: a piece is damaged or of another study, or it leaves nothing to do.
    """
    folders = pieces(config)
    if is_part(config) and study is None:
        raise UserError("part and without_runs are for a sweep with a study")
    if not folders or study is None:
        return [*cells]
    _, registered = asked(config, study, regime(config))
    known = registration_hash(registered)
    made: set[str] = set()
    for folder in folders:
        piece = Piece.read(folder)
        if piece.hash != known:
            raise UserError(
                f"without_runs: {folder} is of another study than this sweep: its registration is "
                f"{piece.hash}, and not {known}"
            )
        made.update(piece.runs)
    kept = [one for one in cells if replicate(one.levels, one.seed) not in made]
    if cells and not kept:
        raise UserError("without_runs leaves out every run of the sweep: there is nothing to do")
    return kept
