"""What earlier runs say about the time and the noise of new ones.

It is made from the records of the runs alone, and can always be made anew. Two runs are of one
  arm      when they differ in their seed alone,
  variant  when they differ in seed and budget,
  size     when they have the same data, device, sizes and batches, whatever their budget is,
  regime   when they have the same size and budget.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.record.part import RESULTS
from ablate.record.sealed import read_sealed
from ablate.record.training import processor
from ablate.record.types import Environment, Metrics, Result
from ablate.study.registration import digest

SEEDS = ("seed", "replicate")
SIZES = ("d_model", "d_ff", "n_layers", "n_decoder_layers")
WHOLE = ("batch", "threads", "tokenizer", "probe")  # nodes of the config that belong to the size
SAMPLES = "samples"  # folder of runs that were only timed, inside the results
FIRST = 0.2  # of the updates of a run, which also pay for memory and compiled shapes
Parts = dict[str, Any]  # of an identity


@dataclass(frozen=True)
class Kin:
    """Digests that runs of the same kind share."""

    arm: str
    variant: str
    size: str
    regime: str

    @classmethod
    def of(cls, parts: Parts, tuned: str = "") -> "Kin":
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

    `per_update` is the time of an optimiser step with its share of the validations, `rest` that of
    all else that training took, both in seconds. `tested` has the evaluations by what they asked.
    """

    kin: Kin
    about: Parts  # what the regime is, for a person
    seed: int
    status: str
    metrics: Metrics
    steps: int
    per_update: float
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
    whole, short = (sorted(results.glob(f"{place}runs/*/")) for place in ("", f"{SAMPLES}/"))
    found = [_row(folder, tuned, sample=False) for folder in whole]
    found += [_row(folder, tuned, sample=True) for folder in short]
    return [row for row in found if row is not None]


def _row(folder: Path, tuned: str, *, sample: bool) -> Row | None:
    try:
        found: Result = read_sealed(folder / "result.json")
        parts = json.loads((folder / "identity.json").read_text())
        machine: Environment = json.loads((folder / "environment.json").read_text())
        kin, about = Kin.of(parts, tuned), _about(parts)
        steps = int(found["metrics"].get("steps") or 0)
        per_update = _per_update(folder / "metrics.jsonl") if steps else 0.0
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
        per_update=per_update,
        rest=max(0.0, found["wall_seconds"] - steps * per_update),
        here=(machine.get("processor"), machine["cores"]) == (processor(), os.cpu_count()),
        sample=sample,
        folder=folder,
        tested=dict(_tests(folder)),
    )


def _per_update(path: Path) -> float:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    timed = [(line["step"], line["time"]) for line in lines]
    steady = [point for point in timed if point[0] >= FIRST * timed[-1][0]]
    if len(steady) < 2 or steady[0][0] == steady[-1][0]:
        steady = [(0, 0.0), *timed[-1:]]
    (first, begun), (last, ended) = steady[0], steady[-1]
    return (ended - begun) / max(1, last - first)


def _tests(folder: Path) -> Iterator[tuple[str, Evaluated]]:
    for path in folder.glob("tests/*/result.json"):
        try:
            found: Result = read_sealed(path)
            asked = json.loads((path.parent / "identity.json").read_text())["config"]
        except (OSError, ValueError, UserError):
            continue
        yield (
            digest(asked),
            Evaluated(found["wall_seconds"], found["metrics"], found["identity"], path.parent),
        )


def _about(parts: Parts) -> dict[str, Any]:
    config = parts["config"]
    sizes = {key: config["model"][key] for key in SIZES if key in config["model"]}
    tokens = {"tokens_per_step": config["batch"]["tokens"], **config["budget"]}
    return {"data": parts["data"], "device": parts["device"], **sizes, **tokens}
