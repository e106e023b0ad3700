"""The command line under real signals."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from .conftest import TINY

ROOT = Path(__file__).resolve().parents[2]
KILLS = 20


@pytest.fixture
def start(small, tmp_path):
    """Start the command line in a process group of its own."""

    def started(results, *overrides):
        paths = (f"paths.results={tmp_path / results}", "trainer.log_every_n_steps=1")
        command = [sys.executable, "-m", "ablate", *small, *TINY, *paths, *overrides]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            command,
            cwd=tmp_path,
            env=env,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    return started


def wait_for_steps(process, folder, count):
    while process.poll() is None:
        lines = sum(len(p.read_text().splitlines()) for p in folder.glob("runs/*/metrics.jsonl"))
        if lines >= count:
            return
        time.sleep(0.01)
    raise AssertionError("the run has ended before")


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGKILL, -9, marks=pytest.mark.slow)],
)
def test_a_process_that_is_ended_is_gone_on_with(
    start, go, left, tmp_path, resumed_after, number, status
):
    steps = ("budget.steps=80", "budget.validate_every=20")
    process = start("ended", *steps)
    wait_for_steps(process, tmp_path / "ended", 25)
    process.send_signal(number)
    assert process.wait() == status
    process.communicate()
    logs = ("trainer.log_every_n_steps=1",)
    found = go("ended", *steps, *logs)
    assert resumed_after() >= 20
    assert left(found) == left(go("whole", *steps, *logs))


SWEEP = ("seed=0,1", "search.size=1,2", "name=killed", "budget.steps=120", "n_jobs=2", "-m")


def logged(folder):
    """Bytes in the logs of all runs of the sweeps of a folder."""
    return sum(path.stat().st_size for path in folder.glob("sweeps/*/*/logs/*"))


def wait_for_work(process, folder, before):
    """Wait until a run says more than it did before, or for the end."""
    while process.poll() is None and logged(folder) <= before:
        time.sleep(0.01)


def killed(process, rng, seconds):
    """Kill a sweep's whole group at a random moment of its work; False when it was over."""
    try:
        output, _ = process.communicate(timeout=rng.uniform(0, seconds))
        assert process.returncode == 0, output
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, rng.choice([signal.SIGTERM, signal.SIGKILL]))
        process.communicate()
        return True


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_sweep_killed_at_20_moments_ends_as_one_that_was_not(start, tmp_path):
    whole = start("whole", *SWEEP)
    wait_for_work(whole, tmp_path / "whole", 0)
    begin = time.monotonic()
    output, _ = whole.communicate()
    assert whole.returncode == 0, output
    seconds = time.monotonic() - begin
    rng, kills, sweeps = random.Random(1), 0, 0
    while kills < KILLS:  # a sweep that comes to its end makes room for another one
        sweeps += 1
        name = f"killed_{sweeps}"
        going_on = True
        while going_on:
            before = logged(tmp_path / name)
            process = start(name, *SWEEP)
            wait_for_work(process, tmp_path / name, before)
            going_on = killed(process, rng, seconds if kills < KILLS else 600)
            kills += going_on
        assert records(tmp_path / name) == records(tmp_path / "whole")
    print(f"{kills} kills of {sweeps} sweeps of {seconds:.1f} s")


def records(results):
    """All numbers of all runs below a results folder."""
    return {path.name: record(path) for path in (results / "runs").iterdir()}


def record(folder):
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    results = [folder / "result.json", *sorted(folder.glob("tests/*/result.json"))]
    weights = torch.load(folder / "weights.pt", weights_only=True)
    return {
        "curve": [{k: v for k, v in line.items() if k != "time"} for line in lines],
        "metrics": [json.loads(path.read_text())["metrics"] for path in results],
        "weights": {name: value.numpy().tobytes() for name, value in weights.items()},
        "hypotheses": {p.parent.name: p.read_text() for p in folder.glob("tests/*/test.hyp")},
    }
