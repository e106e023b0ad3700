"""What is checked for every cell of a sweep before the first one trains."""

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from omegaconf import DictConfig, OmegaConf

from ablate.config.check import check
from ablate.config.construct import construct
from ablate.config.parts import check_parts
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.model.base import Model
from ablate.record.files import check_writable
from ablate.record.types import Fingerprints
from ablate.seeding import seed_of
from ablate.sweep.apart import check_apart
from ablate.sweep.arms import check_arms
from ablate.sweep.cell import Cell, Overrides, plain_study, without_seed
from ablate.train.budgets import shortened
from ablate.train.lengths import check_lengths
from ablate.train.own import check_own, doubts
from ablate.train.run import (
    PARTS,
    build_model,
    hush_lightning,
    make_parts,
    prepare_data,
)
from ablate.train.summary import introduce
from ablate.train.test_inputs import check_shares, check_tests
from ablate.train.tracking import check_loggers

# Weights, two Adam moments and the averaged checkpoints, in float32, while a run trains.
STATES_WHILE_TRAINING = 3


class Checked(NamedTuple):
    """What was found on the way: fingerprints of the data, by `corpus`, and bytes to be written."""

    data: dict[str, Fingerprints]
    needed: int


def preflight(cells: list[Cell], screening: Sequence[Cell] = ()) -> Checked:
    """Check and build every arm on the meta device, prepare its data, and see to the space.

    `cells` are those of the verdict, which must form its study; `screening` those that tune it.
    Cells that differ in their seed alone stand or fall together.

    Raises:
        UserError: what is wrong with the first bad cell, naming it.
    """
    check_apart(cells)
    hush_lightning()
    data: dict[str, TextData] = {}
    built: dict[str, Model] = {}
    models: dict[int, Model] = {}  # by the number of the cell
    needed = 0
    if cells:
        check_loggers(cells[0].task_config())
    arms = _first_of_each(cells)
    count = Counter(without_seed(cell.overrides) for cell in (*cells, *screening))
    for cell in (*arms, *_first_of_each(screening)):
        config = cell.task_config()
        try:
            check(config)
            check_parts(config)
            check_own(config)
            if shorter := shortened(config):
                check_parts(shorter)
            text = corpus(config)
            if new := text not in data:
                data[text] = prepare_data(config)
            introduce(data[text])
            check_tests(config, data[text])
            check_shares(config, data[text])
            for doubt in doubts(config, data[text]) if new else ():
                print(doubt, flush=True)
            key = text + _key(config, "model", "adapt", *PARTS)
            if key not in built:
                built[key] = _build(config, data[text])
            models[cell.number] = built[key]
            check_lengths(config, built[key], data[text], make_parts(config))
        except UserError as error:
            raise UserError(f"cell {cell.number} ({cell.label}): {error}") from None
        kept = _kept_bytes(built[key]) * (2 if shorter else 1)
        needed += kept * count[without_seed(cell.overrides)]
    if cells and cells[0].config.study is not None:
        corpora = {arm.number: data[corpus(arm.task_config())] for arm in arms}
        check_arms(arms, plain_study(cells[0].config), corpora, models)
    if cells:
        needed += _while_training(cells[0].task_config(), max(map(_kept_bytes, built.values())))
        _see_to_space(Path(cells[0].config.paths.results), needed)
    return Checked({text: found.fingerprints for text, found in data.items()}, needed)


def _first_of_each(cells: Sequence[Cell]) -> list[Cell]:
    first: dict[Overrides, Cell] = {}
    for cell in cells:
        first.setdefault(without_seed(cell.overrides), cell)
    return list(first.values())


def _build(config: DictConfig, data: TextData) -> Model:
    with torch.device("meta"):
        model = build_model(config, data)
        construct(config.adapt)(model, seed_of(config))
    return model


def corpus(config: DictConfig) -> str:
    """What says which data a run reads."""
    return _key(config, "data", "tokenizer", "batch", "task")


def _key(config: DictConfig, *nodes: str) -> str:
    return json.dumps([OmegaConf.to_container(config[n], resolve=True) for n in nodes])


def _kept_bytes(model: Model) -> int:
    return sum(p.numel() * p.element_size() for p in model.parameters())


def _while_training(config: DictConfig, largest: int) -> int:
    """Bytes that a run needs beside its weights until it has ended."""
    checkpoint = config.checkpoint
    kept = min(checkpoint.average, config.budget.steps // checkpoint.every)
    averaged = kept if checkpoint.tested == "average" else 0
    return largest * int(STATES_WHILE_TRAINING + averaged)


def _see_to_space(results: Path, needed: int) -> None:
    for folder in (results, results / "runs", results / "locks"):
        if folder == results or folder.exists():
            check_writable(folder)
    free = shutil.disk_usage(results).free
    if needed > free:
        raise UserError(
            f"paths.results={results}: the sweep needs about {needed / 1e6:,.1f} MB, but only "
            f"{free / 1e6:,.1f} MB are free"
        )
