"""Measure the time of a tiny run in a sweep, in addition to its training, validation and test."""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from lab.bench.command import environment

RUNS = 20
OWN_WORK = ("training", "validation", "test")
SIZES = ("n_train=2000", "n_validation=50", "n_test=50", "n_test_long=10")


def seconds_beyond(folder: Path, at_once: int) -> tuple[float, float]:
    """Run a sweep over seeds, and return two overheads in seconds, as medians over its runs.

    The first overhead uses the wall time in a run's record. This time starts when the run has read
    its config and data, and ends with its result. The second overhead uses the time from the start
    of a run to the start of the next run in its place. This time also includes the start and the
    end of the process, and the end of W&B.

    Args:
        folder: folder for the results.
        at_once: number of simultaneous runs.

    Raises:
        UserError: a run has failed.
    """
    command = ["-m", "ablate", "scale=smoke", "name=bench", "logger=wandb", "logger.mode=offline"]
    command += [f"seed=range({RUNS})", f"n_jobs={at_once}", "-m"]
    command += [f"data.{size}" for size in SIZES]
    command += [f"paths.{key}={folder / key}" for key in ("results", "cache")]
    done = subprocess.run([sys.executable, *command], env=environment(1), check=False)
    trained = _results(folder / "results" / "runs")
    if done.returncode or len(trained) != RUNS:
        raise UserError(f"the sweep of {RUNS} tiny runs ended with status {done.returncode}.")
    return beyond(trained, at_once)


def beyond(runs: Sequence[dict[str, Any]], at_once: int) -> tuple[float, float]:
    """Return the two overheads of `seconds_beyond` for the results of runs.

    `at_once` is the number of simultaneous runs.
    """
    runs = sorted(runs, key=lambda run: run["started"])
    works = [sum(run["seconds"].get(part, 0.0) for part in OWN_WORK) for run in runs]
    recorded = [run["wall_seconds"] - work for run, work in zip(runs, works, strict=True)]
    places = zip(runs, runs[at_once:], works, strict=False)
    whole = [after["started"] - run["started"] - work for run, after, work in places]
    return statistics.median(recorded), statistics.median(whole)


def _results(runs: Path) -> list[dict[str, Any]]:
    """Return the result of each run: training and test together."""
    return [_whole(path.parent) for path in sorted(runs.glob("*/result.json"))]


def _whole(folder: Path) -> dict[str, Any]:
    trained = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    tests = [json.loads(p.read_text(encoding="utf-8")) for p in folder.glob("tests/*/result.json")]
    return {
        "started": trained["ended"] - trained["wall_seconds"],
        "wall_seconds": sum(part["wall_seconds"] for part in (trained, *tests)),
        "seconds": {k: v for part in (trained, *tests) for k, v in part["seconds"].items()},
    }
