"""Collect time and results of earlier runs from their records, and estimate the time of a sweep.

Two runs have the same

arm      if they differ only in their seed,
variant  if they differ only in seed and budget,
size     if they have the same data, device, sizes and batches, whatever their budget is,
regime   if they have the same size and budget.
"""

import heapq
import json
import os
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ablate.errors import UserError
from ablate.evidence.registration import digest
from ablate.record.environment import processor
from ablate.record.part import RESULTS
from ablate.record.sealed import read_sealed
from ablate.record.types import Environment, Metrics, Result, TrainingParts

SEEDS = ("seed", "replicate")
SIZES = ("d_model", "d_head", "d_ff", "n_layers", "n_decoder_layers")
# nodes of the config that determine the size
WHOLE = ("batch", "threads", "products", "tokenizer", "probe")
SAMPLES = "samples"  # folder inside the results, with runs that were only timed, by variant
PER_CELL = 0.5  # seconds to start a run, which records do not include; see lab/bench/cells.py
PER_SWEEP = 15.0  # seconds to check all cells, and for table, verdicts and report
FIRST = 0.2  # fraction of a run at its start that is not timed, as it also allocates and compiles


@dataclass(frozen=True)
class RunSignature:
    """Digests by which similar runs are found: runs of the same arm, variant, size or regime (see
    the module).
    """

    arm: str
    variant: str
    size: str
    regime: str

    @classmethod
    def of(cls, parts: TrainingParts, tuned: str = "") -> "RunSignature":
        """Return the digests by which runs similar to a given run are found.

        Args:
            parts: everything that the identity of the given run depends on.
            tuned: config key that is left out, because it is tuned.
        """
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
    """The evaluation of an earlier run on test data: its duration in seconds, its metrics, its
    identity (a hash) and its folder.
    """

    seconds: float
    metrics: Metrics
    identity: str
    folder: Path


@dataclass(frozen=True)
class Row:
    """An earlier run: its signature, results and durations.

    `per_update` is the time of an optimiser step, `per_validation` the time of a validation, and
    `rest` the time of everything else in training, all in seconds. `tested` has the evaluations of
    the run on test data, by a digest of their settings.
    """

    kin: RunSignature
    seed: int
    status: str
    metrics: Metrics
    per_update: float
    per_validation: float
    rest: float
    here: bool  # whether the run was made on a machine like this one
    sample: bool  # whether the run has only a few steps, for timing
    folder: Path
    tested: dict[str, Evaluated] = field(default_factory=dict)


def rows(results: Path, tuned: str = "") -> list[Row]:
    """Return every finished run of a results folder, and every short run that was timed for a plan.

    Damaged runs are skipped here; a sweep that needs such a run reports it. Runs that differ in the
    config key `tuned` belong to the same arm.
    """
    whole, short = (sorted(results.glob(x)) for x in ("runs/*/", f"{SAMPLES}/*/runs/*/"))
    read = [_row(folder, tuned, "") for folder in whole]
    read += [_row(folder, tuned, folder.parents[1].name) for folder in short]
    return [row for row in read if row is not None]


def _row(folder: Path, tuned: str, sample: str) -> Row | None:
    """Return an earlier run; None if its record is damaged.

    Args:
        folder: the folder of the run.
        tuned: config key in which runs of the same arm may differ, or "".
        sample: the variant that a short run was made to time; "" for other runs.
    """
    try:
        result: Result = read_sealed(folder / "result.json")
        parts = json.loads((folder / "identity.json").read_text(encoding="utf-8"))
        machine: Environment = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
        kin = RunSignature.of(parts, tuned)
        kin = replace(kin, variant=sample) if sample else kin
        steps = int(result["metrics"].get("steps") or 0)
        alone = _idle_core_factor(result, parts)
        pace = _pace(folder / "metrics.jsonl") if steps else Pace(0.0, 0.0, 0)
    # the record is damaged, or comes from another version
    except (OSError, ValueError, KeyError, TypeError, UserError):
        return None
    if result["status"] not in RESULTS:
        return None
    return Row(
        kin=kin,
        seed=result["seed"],
        status=result["status"],
        metrics=result["metrics"],
        per_update=alone * pace.update,
        per_validation=alone * pace.validation,
        rest=alone * max(0.0, result["wall_seconds"] - pace.seconds(steps)),
        here=(machine.get("processor"), machine["cores"]) == (processor(), os.cpu_count()),
        sample=bool(sample),
        folder=folder,
        tested=dict(_tests(folder, parts)),
    )


def _idle_core_factor(result: Result, parts: TrainingParts) -> float:
    """Return the factor that converts the measured time of a run to its time on an idle core.

    The factor is the processor time divided by the wall time, and at most 1. It is 1 if the run
    used several threads or a GPU, or if its record has no processor time.
    """
    used = result.get("processor_seconds")
    if used is None or parts["config"]["threads"] != 1 or parts["device"] != "cpu":
        return 1.0
    return min(1.0, used / result["wall_seconds"]) if result["wall_seconds"] else 1.0


class Pace(NamedTuple):
    """Seconds per step and per validation of a run, and its number of validations."""

    update: float
    validation: float
    validations: int

    def seconds(self, steps: int) -> float:
        """Return the seconds that the run takes for `steps` steps and for all its validations."""
        return steps * self.update + self.validations * self.validation


def _pace(path: Path) -> Pace:
    lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    start = {"step": 0, "time": 0.0}
    last = [start, *lines][-1]
    between = [
        (line["step"] - before["step"], line["time"] - before["time"], before["step"])
        for before, line in pairwise([start, *lines])
    ]
    steady = [
        (updates, took)
        for (updates, took, begun), line in zip(between, lines, strict=True)
        if "val/nll" not in line and updates and begun >= FIRST * last["step"]
    ]
    if not steady:
        return Pace(last["time"] / max(1, last["step"]), 0.0, 0)
    per_update = sum(took for _, took in steady) / sum(updates for updates, _ in steady)
    validations = {
        line["step"]: max(0.0, took - updates * per_update)
        for (updates, took, _), line in reversed([*zip(between, lines, strict=True)])
        # reversed, to keep the first line of a step: the tested weights are validated again later
        if "val/nll" in line
    }
    per_validation = statistics.mean(validations.values()) if validations else 0.0
    return Pace(per_update, per_validation, len(validations))


def _tests(folder: Path, parts: TrainingParts) -> Iterator[tuple[str, Evaluated]]:
    for path in folder.glob("tests/*/result.json"):
        try:
            result: Result = read_sealed(path)
            asked = json.loads((path.parent / "identity.json").read_bytes())["config"]
        except (OSError, ValueError, UserError):
            continue
        seconds = _idle_core_factor(result, parts) * result["wall_seconds"]
        yield digest(asked), Evaluated(seconds, result["metrics"], result["identity"], path.parent)


@dataclass(frozen=True)
class Cost:
    """The estimated time of one cell (run) of an arm in seconds, and the source of the estimate.

    `known_by` is the source as text, such as "3 earlier runs of this variant".
    """

    seconds: float
    known_by: str
    guessed: bool = False  # whether the estimate comes from other variants


def cost(
    kin: RunSignature,
    steps: int,
    validations: int,
    asked: str | None,
    earlier: Iterable[Row],
    *,
    tests: int = 1,
    trains: bool = True,
) -> Cost | None:
    """Return the estimated time of a run, from similar earlier runs; None if there are none.

    Similar runs have the same variant or, if no run has, the same size (see the module).

    Args:
        kin: digests by which similar earlier runs are found.
        steps: number of optimiser steps, 0 for a probe.
        validations: number of validations.
        asked: digest of the settings of the run's test; None if the run is not tested.
        earlier: earlier runs; runs on other machines are ignored.
        tests: number of tests: one for each budget.
        trains: whether the run must train; otherwise it tests weights that another arm trained.
    """
    here = [row for row in earlier if row.here]
    for same, known_by in (("variant", "this variant"), ("size", "other variants of this size")):
        similar = [row for row in here if getattr(row.kin, same) == getattr(kin, same)]
        whole = [row for row in similar if not row.sample]
        if similar := whole or similar:
            trained = trains * statistics.median(
                row.rest + steps * row.per_update + validations * row.per_validation
                for row in similar
            )
            tested = tests * _testing(similar, asked) if asked else 0.0
            kind = "earlier" if whole else "short"
            many = f"{len(similar)} {kind} run{'s' * (len(similar) > 1)}"
            seconds = PER_CELL + trained + tested
            return Cost(seconds, f"{many} of {known_by}", guessed=same == "size")
    return None


def _testing(similar: Sequence[Row], asked: str) -> float:
    alike = [row.tested[asked].seconds for row in similar if asked in row.tested]
    any_test = [test.seconds for row in similar for test in row.tested.values()]
    return statistics.median(alike or any_test or [0.0])


def wall(stages: Iterable[Iterable[float]], at_once: int) -> float:
    """Return the seconds until a sweep ends, with `at_once` runs at a time.

    `stages` has the seconds of every run; the runs of a stage start in this order, after all runs
    of the previous stage.
    """
    total = PER_SWEEP
    for cells in stages:
        slots = [0.0] * at_once
        for seconds in cells:
            heapq.heapreplace(slots, slots[0] + seconds)
        total += max(slots)
    return total
