"""Choose, compose and check the runs of a sweep.

A sweep leaves out the arms that `without` lists. With `part=true`, or with `without_runs=FOLDER`,
which skips the runs that the evidence in this folder has, a sweep makes only a part of a study, for
`ablate join`, and has no verdict.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf

from ablate.errors import UserError
from ablate.evidence.gather import SCREENING
from ablate.evidence.join import Piece
from ablate.evidence.looks import arms_of
from ablate.evidence.registration import registration_hash
from ablate.evidence.tuned import screening_seeds
from ablate.evidence.types import Study
from ablate.record.label import run_key, value_text
from ablate.sweep.apart import check_swept
from ablate.sweep.begin import is_part, pieces, regime
from ablate.sweep.cell import Cell, plain_study
from ablate.sweep.compose import compose
from ablate.sweep.describe import describe, planned_seeds, planned_values
from ablate.sweep.planned import PlannedSweep
from ablate.sweep.tuning import screening_jobs
from ablate.verdict.sides import ContrastError, slope

SAME_ARMS = (
    "`ablate join` joins only parts with the same arms. Divide a study by seeds: give each part "
    "all arms and some of the seeds, as in seed=0,1. To leave out an arm in every part, list it in "
    "`without`"
)


def plan_runs(
    context: HydraContext, config: DictConfig, jobs: Sequence[Sequence[str]]
) -> PlannedSweep:
    """Compose and check all runs of a sweep.

    Args:
        context: Hydra's context.
        config: the config of the sweep.
        jobs: the overrides of each run.

    Raises:
        UserError: a run, or the combination of runs, is invalid.
    """
    study = plain_study(config) if config.study is not None else None
    folder = Path(config.hydra.sweep.dir)
    without: Any = OmegaConf.to_container(config.without, resolve=True)
    cells = compose(context, config, jobs, count(), folder)
    if study is not None:
        check_swept(jobs, study)
    cells = leave_out(cells, without)
    sweep = PlannedSweep(context, config, study, cells, cells, [], {})
    _check_arms(sweep, jobs)
    if match := study.get("match") if study else None:
        from ablate.sweep.matching import matched_jobs  # imports torch

        numbers = [cell.number for cell in cells]
        cells = compose(context, config, matched_jobs(cells, match), numbers, folder)
    tune, screening = sweep.tune, sweep.screening
    seeds = screening_seeds(_replicates(config, cells), tune) if tune else {}
    cells = without_made(replace(sweep, cells=cells))
    if tune:
        tuning, after = screening_jobs(cells, tune, seeds), count(len(jobs))
        screening = compose(context, config, tuning, after, folder / SCREENING, tune["key"])
    # here, because it imports torch, and the server imports torch at the same time
    from ablate.sweep.preflight import preflight

    checked = preflight(cells, screening)
    return replace(sweep, cells=cells, screening=screening, seeds=seeds, checked=checked)


def leave_out(cells: Sequence[Cell], without: Iterable[Mapping[str, object]]) -> list[Cell]:
    """Return all runs except runs that have every level of a combination in `without`.

    Raises:
        UserError: a combination matches no run, or no run remains.
    """
    for arm in without:
        if not any(cell.levels.items() >= arm.items() for cell in cells):
            levels = {text for cell in cells for text in _texts(cell.levels)}
            raise UserError(
                f"without: no run has {', '.join(_texts(arm))}; this sweep has "
                f"{', '.join(sorted(levels))}"
            )
    kept = [c for c in cells if not any(c.levels.items() >= arm.items() for arm in without)]
    if cells and not kept:
        given = " and ".join(", ".join(_texts(arm)) for arm in without)
        raise UserError(
            f"`without` lists {given}, which leaves out all {len(cells)} runs of the sweep: list "
            "fewer combinations"
        )
    return kept


def _check_arms(sweep: PlannedSweep, jobs: Sequence[Sequence[str]]) -> None:
    """Raise UserError if the runs lack an arm of a claim, or if a part of a study lacks an arm that
    other parts have; only a part of a screen may lack arms.
    """
    study, part = sweep.study, is_part(sweep.config)
    if study is None or (part and study.get("screen")):
        return
    for factor in study["factors"] if part else ():
        planned = planned_values(sweep.config, factor, sweep.context.config_loader)
        words = (word.lstrip("+").partition("=") for job in jobs for word in job)
        given = dict.fromkeys(value for key, _, value in words if key == factor)
        if len(given) < len({*planned}):
            raise UserError(
                f"this part of the study has only {factor}={','.join(given)}, but the study has "
                f"{factor}={','.join(planned)}. {SAME_ARMS}"
            )
    check_claims(sweep.cells, study, f". {SAME_ARMS}" if part else "")


def check_claims(cells: Sequence[Cell], study: Study, hint: str = "") -> None:
    """Raise UserError if an arm of a claim has no run, or if a trend has too few levels.

    Args:
        cells: the runs of the sweep.
        study: the study.
        hint: end of the message about an arm without a run.
    """
    for claim in study["claims"]:
        for levels in arms_of(claim) or [claim["where"]]:
            if not any(cell.levels.items() >= levels.items() for cell in cells):
                missing = ", ".join(_texts(levels))
                raise UserError(f"study.claims, {claim['id']}: no run has {missing}{hint}")
        try:
            if claim["kind"] == "trend":
                slope(claim, [cell.levels for cell in cells])
        except ContrastError as error:
            where = f"study.claims, {claim['id']}: over={claim['over']}"
            raise UserError(f"{where}: {error}") from None


def _texts(levels: Mapping[str, object]) -> list[str]:
    return [f"{factor}={value_text(level)}" for factor, level in levels.items()]


def _replicates(config: DictConfig, cells: Sequence[Cell]) -> set[int]:
    """Return the seeds for which nuisance parameters are tuned: the seeds of the runs, and for a
    part of a study also all other planned seeds.

    The seed of a tuning run depends on the position of its seed among these seeds. With all planned
    seeds, a run is the same in a part and in a sweep of the whole study.
    """
    seeds = {cell.seed for cell in cells}
    return seeds.union(planned_seeds(config)) if is_part(config) else seeds


def without_made(sweep: PlannedSweep) -> list[Cell]:
    """Return the runs of a sweep that the evidence in the folders of `without_runs` does not have.

    Raises:
        UserError: the config is for a part but has no study; evidence in a folder is damaged, of
            another study or of another replicate; or no run remains.
    """
    config, cells = sweep.config, sweep.cells
    folders = pieces(config)
    if is_part(config) and sweep.study is None:
        raise UserError("part and without_runs are for a sweep with a study")
    if not folders:
        return cells
    _, registered = describe(sweep, regime(config))
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
