"""Sweeps in processes of their own, and what each must leave in the end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
# four arms and two seeds, whose runs save their states often
STUDY = (
    *("+experiment=preln_vs_postln", "study.tune=null", "budget.seeds=2", "budget.short=null"),
    *("data.n_train=60", "data.n_validation=5", "data.n_test=5", "batch.tokens=256"),
    *("budget.steps=24", "budget.validate_every=5", "trainer.log_every_n_steps=1"),
    *("checkpoint.save_every=3", "search=greedy", "n_jobs=2"),
)


@pytest.fixture(scope="session")
def line(small_in):
    """The command line of a worker of the study on a results folder of this name in a folder."""

    def made(folder, results, *overrides):
        words = [*small_in(folder), *STUDY, f"paths.results={folder / results}", *overrides]
        return [sys.executable, "-m", "ablate", *words, "-m"]

    return made


@pytest.fixture
def start(line, tmp_path):
    """Start a worker in a group of its own; what a failed test leaves is killed."""
    workers = []

    def started(results, *overrides):
        worker = subprocess.Popen(
            line(tmp_path, results, *overrides),
            cwd=tmp_path,
            env=ENVIRONMENT,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        workers.append(worker)
        return worker

    # a job in the background of a shell ignores SIGINT, and so would all processes that it starts
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield started
    signal.signal(signal.SIGINT, before)
    for worker in workers:
        if worker.returncode is None:
            kill(worker)


def kill(worker):
    """Kill a worker with all of its processes."""
    os.killpg(worker.pid, signal.SIGKILL)
    worker.communicate()


@pytest.fixture(scope="session")
def quiet(line, tmp_path_factory):
    """Return the results of a sweep that nothing kills or stops."""
    folder = tmp_path_factory.mktemp("quiet")
    subprocess.run(line(folder, "results"), cwd=folder, env=ENVIRONMENT, check=True)
    return results_of(folder / "results")


def ended(process):
    """Wait for the end of a process that should end well."""
    output, _ = process.communicate()
    assert process.returncode == 0, output


def wait_until(condition, process):
    """Wait for something that happens while a process lives."""
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)


def done(results):
    """Number of cells of all sweeps of a folder that are done."""
    return len(list(results.glob("sweeps/*/*/cells/*.json")))


def results_of(results):
    """Return the runs, the judged claims and the bytes of the statistics of the only sweep."""
    (sweep,) = (results / "sweeps").glob("*/*")
    claims = json.loads((sweep / "verdict.json").read_text())["claims"]
    return records(results), claims, (sweep / "statistics.npz").read_bytes()


def records(results):
    """All numbers, weights and translations of all runs below a results folder."""
    return {path.name: record(path) for path in (results / "runs").iterdir()}


def record(folder):
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    outcomes = [folder / "result.json", *sorted(folder.glob("tests/*/result.json"))]
    weights = torch.load(folder / "weights.pt", weights_only=True)
    return {
        "curve": [{k: v for k, v in line.items() if k != "time"} for line in lines],
        "metrics": [json.loads(path.read_text())["metrics"] for path in outcomes],
        "weights": {name: value.numpy().tobytes() for name, value in weights.items()},
        "translations": {p.parent.name: p.read_text() for p in folder.glob("tests/*/test.hyp")},
    }
