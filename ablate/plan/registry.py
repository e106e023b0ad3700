"""What earlier runs say about the time and the noise of new ones.

It is made from the records of the runs alone, and can always be made anew. Two runs are of one
  arm      when they differ in their seed alone,
  variant  when they differ in seed and budget,
  size     when they have the same data, device, sizes and batches, whatever their budget is,
  regime   when they have the same size and budget.
"""

import json
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ablate.errors import UserError
from ablate.evidence.registration import digest
from ablate.record.part import RESULTS
from ablate.record.sealed import read_sealed
from ablate.record.training import processor
from ablate.record.types import Environment, Metrics, Result, TrainingParts

SEEDS = ("seed", "replicate")
SIZES = ("d_model", "d_head", "d_ff", "n_layers", "n_decoder_layers")
WHOLE = (
    "batch",
    "threads",
    "products",
    "tokenizer",
    "probe",
)  # nodes of the config that belong to the size
SAMPLES = "samples"  # folder of runs that were only timed, inside the results, by their variant
FIRST = 0.2  # of the updates of a run, which also pay for memory and compiled shapes


@dataclass(frozen=True)
class Kin:
    """Digests that runs of the same kind share."""

    arm: str
    variant: str
    size: str
    regime: str

    @classmethod
    def of(cls, parts: TrainingParts, tuned: str = "") -> "Kin":
        """From what the identity of a training is made of; `tuned` is a key to be left out."""
        config = {k: v for k, v in parts["config"].items() if k not in SEEDS}
        config = _without(config, tuned.split("."))
        same = {"data": parts["data"], "device": parts["device"]}
        variant = {k: v for k, v in config.items() if k != "budget"}
        size = {
            **same,
            **{key: config["model"].get(key) for key in SIZES},
            **{key: config[key] for key in WHOLE},
            "precision": config["trainer"].get("precision"),
            "task": config["task"]["_target_"],
        }
        return cls(
            arm=digest({**same, "config": config}),
            variant=digest({**same, "config": variant}),
            size=digest(size),
            regime=digest({**size, "budget": config["budget"]}),
        )


def _without(node: Any, path: list[str]) -> Any:
    if not isinstance(node, dict) or path[0] not in node:
        return node
    if len(path) == 1:
        return {key: value for key, value in node.items() if key != path[0]}
    return {**node, path[0]: _without(node[path[0]], path[1:])}


@dataclass(frozen=True)
class Evaluated:
    """An evaluation of a run: how long it took, what it found, and where."""

    seconds: float
    metrics: Metrics
    identity: str
    folder: Path


@dataclass(frozen=True)
class Row:
    """An earlier run.

    `per_update` is the time of an optimiser step, `per_validation` that of a validation, `rest`
    that of all else that training took, all in seconds. `tested` has the evaluations by what they
    asked.
    """

    kin: Kin
    about: dict[str, object]  # what the regime is, for a person
    seed: int
    status: str
    metrics: Metrics
    steps: int
    per_update: float
    per_validation: float
    rest: float
    here: bool  # on a machine like this one
    sample: bool  # a few updates, which were only timed
    folder: Path
    tested: dict[str, Evaluated] = field(default_factory=dict)


def rows(results: Path, tuned: str = "") -> list[Row]:
    """Every run of a results folder that has ended, and every short one that was timed for a plan.

    What is damaged is passed over: the sweep that needs it will say so. Runs that differ in the
    key that is `tuned` are of one arm.
    """
    whole = [_row(folder, tuned) for folder in sorted(results.glob("runs/*/"))]
    short = [
        (_row(folder, tuned), folder.parents[1].name)
        for folder in sorted(results.glob(f"{SAMPLES}/*/runs/*/"))
    ]
    timed = [
        replace(row, sample=True, kin=replace(row.kin, variant=variant))
        for row, variant in short
        if row is not None
    ]
    return [*(row for row in whole if row is not None), *timed]


def _row(folder: Path, tuned: str) -> Row | None:
    try:
        found: Result = read_sealed(folder / "result.json")
        parts = json.loads((folder / "identity.json").read_text(encoding="utf-8"))
        machine: Environment = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
        kin, about = Kin.of(parts, tuned), _about(parts)
        steps = int(found["metrics"].get("steps") or 0)
        alone = _alone(found, parts)
        pace = _pace(folder / "metrics.jsonl") if steps else Pace(0.0, 0.0, 0)
    except (OSError, ValueError, KeyError, TypeError, UserError):  # damaged, or of another version
        return None
    if found["status"] not in RESULTS:
        return None
    return Row(
        kin=kin,
        about=about,
        seed=found["seed"],
        status=found["status"],
        metrics=found["metrics"],
        steps=steps,
        per_update=alone * pace.update,
        per_validation=alone * pace.validation,
        rest=alone * max(0.0, found["wall_seconds"] - pace.seconds(steps)),
        here=(machine.get("processor"), machine["cores"]) == (processor(), os.cpu_count()),
        sample=False,
        folder=folder,
        tested=dict(_tests(folder, parts)),
    )


def _alone(found: Result, parts: TrainingParts) -> float:
    """What share of its time a run would have taken with a core for itself.

    1 where that is not known: of several threads, which wait for each other, of other devices, and
    of older records.
    """
    used = found.get("processor_seconds")
    if used is None or parts["config"]["threads"] != 1 or parts["device"] != "cpu":
        return 1.0
    return min(1.0, used / found["wall_seconds"]) if found["wall_seconds"] else 1.0


class Pace(NamedTuple):
    """Seconds of an update and of a validation, and how many validations there were."""

    update: float
    validation: float
    validations: int

    def seconds(self, steps: int) -> float:
        """Seconds of the updates and validations of the run."""
        return steps * self.update + self.validations * self.validation


def _pace(path: Path) -> Pace:
    lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    start = {"step": 0, "time": 0.0}
    last = [start, *lines][-1]
    between = [
        (one["step"] - before["step"], one["time"] - before["time"], before["step"])
        for before, one in pairwise([start, *lines])
    ]
    steady = [
        (updates, took)
        for (updates, took, begun), one in zip(between, lines, strict=True)
        if "val/nll" not in one and updates and begun >= FIRST * last["step"]
    ]
    if not steady:
        return Pace(last["time"] / max(1, last["step"]), 0.0, 0)
    per_update = sum(took for _, took in steady) / sum(updates for updates, _ in steady)
    validations = {
        one["step"]: max(0.0, took - updates * per_update)
        for (updates, took, _), one in reversed([*zip(between, lines, strict=True)])
        if "val/nll" in one  # the first at a step: the weights that are tested come after it
    }
    per_validation = statistics.mean(validations.values()) if validations else 0.0
    return Pace(per_update, per_validation, len(validations))


def _tests(folder: Path, parts: TrainingParts) -> Iterator[tuple[str, Evaluated]]:
    for path in folder.glob("tests/*/result.json"):
        try:
            found: Result = read_sealed(path)
            asked = json.loads((path.parent / "identity.json").read_bytes())["config"]
        except (OSError, ValueError, UserError):
            continue
        seconds = _alone(found, parts) * found["wall_seconds"]
        yield digest(asked), Evaluated(seconds, found["metrics"], found["identity"], path.parent)


def _about(parts: TrainingParts) -> dict[str, object]:
    config = parts["config"]
    sizes = {key: config["model"][key] for key in SIZES if key in config["model"]}
    tokens = {"tokens_per_step": config["batch"]["tokens"], **config["budget"]}
    return {"data": parts["data"], "device": parts["device"], **sizes, **tokens}
