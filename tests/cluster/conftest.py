"""Sweeps that several processes share, and what each must leave in the end."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDY = ("+experiment=preln_vs_postln", "study.tune=null", "budget.seeds=3", "n_jobs=1", "-m")


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def line(small_in):
    """The command line of a worker of the study on a results folder of this name in a folder."""

    def made(folder, results, *overrides):
        words = [*small_in(folder), f"paths.results={folder / results}"]
        steps = ("trainer.log_every_n_steps=1", "budget.steps=40")
        return [sys.executable, "-m", "ablate", *words, *steps, *overrides, *STUDY]

    return made


@pytest.fixture
def start(line, tmp_path):
    """Start a worker in a group of its own."""

    def started(results, *overrides):
        return subprocess.Popen(
            line(tmp_path, results, *overrides),
            cwd=tmp_path,
            env=ENVIRONMENT,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return started


@pytest.fixture(scope="session")
def quiet(line, tmp_path_factory):
    """What the sweep leaves that nobody disturbs."""
    folder = tmp_path_factory.mktemp("quiet")
    subprocess.run(line(folder, "results"), cwd=folder, env=ENVIRONMENT, check=True)
    return left(folder / "results")


def wait_until(condition, process):
    """Wait for something that happens while a process lives."""
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)


def done(results):
    """Number of cells of all sweeps of a folder that are done."""
    return len(list(results.glob("sweeps/*/*/cells/*.json")))


def left(results):
    """What the one sweep of a folder found, without what no two sweeps share."""
    (sweep,) = (results / "sweeps").glob("*/*")
    verdict = json.loads((sweep / "verdict.json").read_text())
    runs = [json.loads(line) for line in (sweep / "runs.jsonl").read_text().splitlines()]
    return {
        "claims": verdict["claims"],
        "metrics": {run["cell"]: (run["identity"], run["metrics"]) for run in runs},
        "trained": len(list((results / "runs").iterdir())),
    }
