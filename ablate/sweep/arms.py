"""Whether the arms of a sweep are what its study says, checked before any run.

The factors are what is swept, the arms of every claim exist, two arms differ in nothing but the
factors and the declared nuisances, they train differently, and what is judged is measured.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch

from ablate.config.leaves import leaves
from ablate.config.screen import FACTOR
from ablate.data.batch import Batch, Ids
from ablate.data.module import TextData
from ablate.data.vocabulary import EOS, PAD
from ablate.errors import UserError
from ablate.evidence.types import Claim, Levels, Study
from ablate.model.base import Model
from ablate.optimizer.base import make_optimizer
from ablate.record.label import key, place, value_text
from ablate.seeding import seed_dropout, seed_of
from ablate.sweep.apart import check_swept, free_keys
from ablate.sweep.cell import Cell
from ablate.sweep.metrics import check_metric, metric_names
from ablate.sweep.parts import is_part
from ablate.task.base import Task
from ablate.train.job import Job
from ablate.train.prepare import make_model
from ablate.verdict.sides import ContrastError, slope

# What two steps on a fixed batch can show; of the rest, each is a difference by itself.
SEEN = ("model", "loss", "optimizer", "schedule", "budget.warmup")
LONG, POINTS = 64, 64  # most tokens of the longest sentence; steps at which schedules are compared
LENGTHS = (12, 9, 7, 4, 3, 1)  # of the sentences of the fixed batch
STEPS = 2


class Built(NamedTuple):
    """An arm as it would run; the model has no values (device meta)."""

    job: Job
    data: TextData
    model: Model


def check_arms(cells: list[Cell], study: Study, built: Mapping[int, Built]) -> None:
    """Raise UserError unless the cells form the study; `built` has their arms by number."""
    check_swept([cell.overrides for cell in cells], study)
    if not is_part(cells[0].config):  # a part may lack arms that the others have
        _check_claims(cells, study)
    arms = _first_of_each(cells, study["factors"])
    _check_metrics(arms, study, built)
    _check_fixed(arms, study)
    if study["expect"] == "different" and cells[0].config.probe is None:
        _check_training(arms, study, built)


def _check_claims(cells: list[Cell], study: Study) -> None:
    for claim in study["claims"]:
        wanted = [claim["where"] | claim[part] for part in ("treatment", "baseline")]
        if claim["minus"]:
            wanted += [levels | claim["minus"] for levels in wanted]
        for levels in wanted:
            if not any(cell.levels.items() >= levels.items() for cell in cells):
                said = ", ".join(f"{f}={value_text(level)}" for f, level in levels.items())
                raise UserError(f"study.claims, {claim['id']}: no cell has {said}")

        _check_slope(claim, cells)


def _check_slope(claim: Claim, cells: list[Cell]) -> None:
    if claim["kind"] != "trend":
        return
    try:
        slope(claim, [cell.levels for cell in cells])
    except ContrastError as error:
        raise UserError(f"study.claims, {claim['id']}: over={claim['over']}: {error}") from None


def _check_metrics(arms: list[Cell], study: Study, built: Mapping[int, Built]) -> None:
    """What is to be judged or chosen by is measured in some of the arms."""
    parts = (built[arm.number] for arm in arms)
    names = (metric_names(part.job, part.model) for part in parts)
    known = set[str]().union(*names)
    for claim in study["claims"]:
        check_metric(f"study.claims, {claim['id']}: metric", claim["metric"], known)
        if claim["control"]:
            check_metric(f"study.claims, {claim['id']}: control", claim["control"], known)
    if study["tune"]:
        check_metric("study.tune.metric", study["tune"]["metric"], known)


def _first_of_each(cells: list[Cell], factors: list[str]) -> list[Cell]:
    """One cell of every arm, all with the same seed."""
    first: dict[str, Cell] = {}
    for cell in cells:
        first.setdefault(key({factor: cell.levels[factor] for factor in factors}), cell)
    return list(first.values())


def _check_fixed(arms: list[Cell], study: Study) -> None:
    """What differs between two arms must lie below a factor or a nuisance."""
    free = [place(name) for name in free_keys(study)]
    found = [leaves(arm.task_config()) for arm in arms]
    for arm, own in zip(arms[1:], found[1:], strict=True):
        for name in found[0].keys() | own.keys():
            differs = found[0].get(name) != own.get(name)
            if differs and not any(name == f or name.startswith(f"{f}.") for f in free):
                raise UserError(
                    f"the arms {arms[0].label} and {arm.label} differ in {name} as well "
                    f"({found[0].get(name)}, {own.get(name)}), which is neither a factor nor a "
                    "nuisance of the study"
                )


def _check_training(arms: list[Cell], study: Study, built: Mapping[int, Built]) -> None:
    """Arms that differ only in what two steps can show must differ after them."""
    alike: dict[str, list[Cell]] = {}
    for arm in arms:
        unseen = {key: level for key, level in _changes(arm, study).items() if not _seen(key)}
        alike.setdefault(json.dumps(unseen, default=str), []).append(arm)
    for comparable in alike.values():
        if len(comparable) > 1:
            _check_different(comparable, built)


def _changes(arm: Cell, study: Study) -> Levels:
    """Return the levels of an arm; of a variant of a screen, the overrides that make it."""
    screen = study.get("screen")
    return screen["variants"].get(str(arm.levels[FACTOR]), {}) if screen else arm.levels


def _check_different(arms: list[Cell], built: Mapping[int, Built]) -> None:
    found: dict[str, Cell] = {}
    for arm in arms:
        part = built[arm.number]
        one = found.setdefault(trained_a_little(part.job, part.data), arm)
        if one is not arm:
            raise UserError(
                f"the arms {one.label} and {arm.label} are the same after {STEPS} training "
                "steps; say study.expect=identical if that is meant"
            )


def _seen(factor: str) -> bool:
    return place(factor).startswith(SEEN)


def trained_a_little(job: Job, data: TextData) -> str:
    """Return a hash of all parameters after two steps on a fixed batch, and of the schedule."""
    model = make_model(job, data)
    optimizer = make_optimizer(job.optimizer, model)
    factor = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda d: job.schedule(d + 1))
    batch = fixed_batch(job.task, data.src_vocab, data.tgt_vocab, data.longest("train")[1])
    counted = job.loss.counted(batch.targets)
    seed_dropout(seed_of(job.config), 0)
    for _ in range(STEPS):
        states = model(job.task.read(model, batch.inputs))[counted]
        targets = batch.targets[counted]
        objective, _ = model.head.score(job.loss, states, targets)
        optimizer.zero_grad()
        torch.autograd.backward(objective)
        optimizer.step()
        factor.step()
    values = b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())
    return hashlib.sha256(values + json.dumps(_rates(job)).encode()).hexdigest()


def _rates(job: Job) -> list[float]:
    """Return the factors of the learning rate at some steps: schedules may begin alike."""
    steps = np.unique(np.linspace(1, job.config.budget.steps, POINTS).astype(int))
    return [float(job.schedule(int(step))) for step in steps]


def fixed_batch(task: Task, src_vocab: int, tgt_vocab: int, longest: int) -> Batch:
    """Return a task's batch of some random sentences of unlike lengths.

    One is as long as those of the corpus, up to a limit: a window is seen by no shorter one.
    """
    random = np.random.default_rng(0)
    lengths = np.array([max(LENGTHS[0], min(longest, LONG) - 1), *LENGTHS[1:]])
    columns = np.arange(max(lengths) + 1)

    def side(vocabulary: int, length: Ids) -> Ids:
        words = random.integers(EOS + 2, vocabulary, (len(lengths), len(columns)))
        return np.where(columns < length, words, np.where(columns == length, EOS, PAD))

    src, tgt = side(src_vocab, lengths[:, None]), side(tgt_vocab, lengths[::-1, None])
    return task.batch(src, tgt, np.arange(len(lengths)), np.random.default_rng)
