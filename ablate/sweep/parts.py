"""Run a part of a study: a sweep that has some of its runs, for `ablate join`, and no verdict.

A sweep makes a part with `part=true`, or with `without_runs=FOLDER`, which skips the runs that the
evidence in this folder has.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ablate.errors import UserError
from ablate.evidence.join import Piece
from ablate.evidence.registration import registration_hash
from ablate.evidence.types import Study
from ablate.record.label import run_key
from ablate.sweep.asked import asked, planned_seeds
from ablate.sweep.begin import regime
from ablate.sweep.cell import Cell


def is_part(config: DictConfig) -> bool:
    """Return whether a sweep makes only a part of a study."""
    return bool(config.part or pieces(config))


def pieces(config: DictConfig) -> list[Path]:
    """Return the folders with evidence whose runs are skipped (`without_runs`).

    Raises:
        UserError: `without_runs` is neither a folder nor a list of folders.
    """
    given: Any = config.without_runs
    if OmegaConf.is_config(given):
        given = OmegaConf.to_container(given, resolve=True)
    folders = [given] if isinstance(given, str) else given
    if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
        raise UserError(
            f"without_runs={given}: it must be a folder with evidence, or [FOLDER,FOLDER]"
        )
    return [Path(folder).expanduser() for folder in folders]


def replicates(config: DictConfig, cells: Sequence[Cell]) -> set[int]:
    """Return the seeds for which nuisance parameters are tuned: the seeds of the runs, and for a
    part of a study also all other planned seeds.

    The seed of a tuning run depends on the position of its seed among these seeds. With all planned
    seeds, a run is the same in a part and in a sweep of the whole study.
    """
    seeds = {cell.seed for cell in cells}
    return seeds.union(planned_seeds(config)) if is_part(config) else seeds


def without_made(config: DictConfig, study: Study | None, cells: Sequence[Cell]) -> list[Cell]:
    """Return the runs of a sweep that the evidence in the folders of `without_runs` does not have.

    Raises:
        UserError: the config is for a part but has no study; evidence in a folder is damaged, of
            another study or of another replicate; or no run remains.
    """
    folders = pieces(config)
    if is_part(config) and study is None:
        raise UserError("part and without_runs are for a sweep with a study")
    if not folders or study is None:
        return [*cells]
    _, registered = asked(config, study, regime(config))
    own_hash = registration_hash(registered)
    made: set[str] = set()
    for folder in folders:
        piece = Piece.read(folder)
        if piece.hash != own_hash:
            raise UserError(
                f"without_runs: {folder} belongs to another study than this sweep: its "
                f"registration is {piece.hash}, and not {own_hash}"
            )
        made_with = f"replicate={piece.sweep.replicate} contest={str(piece.sweep.contest).lower()}"
        own_values = f"replicate={config.replicate} contest={str(config.contest).lower()}"
        if made_with != own_values:
            raise UserError(
                f"without_runs: {folder} was made with {made_with}, but this sweep has "
                f"{own_values}, so their runs differ: start this sweep with {made_with}"
            )
        made.update(piece.runs)
    kept = [cell for cell in cells if run_key(cell.levels, cell.seed) not in made]
    if cells and not kept:
        raise UserError("without_runs leaves out every run of the sweep: there is nothing to do")
    return kept
