"""Slurm itself, from Debian's packages, on two nodes of this machine."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import ENVIRONMENT, done, results_of

SCRIPT = Path(__file__).with_name("slurm.sh")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("slurmctld") is None,
        reason="needs root, slurmctld, slurmd and munge",
    ),
]


@pytest.fixture
def slurm(tmp_path):
    """Call a command of Slurm."""
    folder = tmp_path / "slurm"
    subprocess.run([SCRIPT, "start", folder], check=True, timeout=120)
    # Lightning would look for the first node by its name, which no network knows here
    local = {"SLURM_CONF": str(folder / "slurm.conf"), "MASTER_ADDR": "127.0.0.1"}
    environment = {**ENVIRONMENT, **local}

    def called(*words):
        process = subprocess.run(
            words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return process.stdout.strip()

    yield called
    subprocess.run([SCRIPT, "stop", folder], check=True)


def wait(condition):
    while not condition():
        time.sleep(0.5)


def test_an_array_that_is_cancelled_requeued_limited_and_drained(slurm, line, quiet, tmp_path):
    shared = tmp_path / "shared"
    folder = shared / "sweeps" / "preln_vs_postln" / "array"
    worker = shlex.join(line(tmp_path, "shared", f"hydra.sweep.dir={folder}"))

    def submit(*flags):
        return slurm("sbatch", "--parsable", "--requeue", *flags, f"--wrap=exec {worker}")

    def running():
        return slurm("squeue", "-h", "-r", "-t", "R", "-o", "%A").split()

    limited = submit("--time=1")  # a minute, then SIGTERM
    array = submit("--array=1-4")
    wait(lambda: done(shared) >= 2)
    slurm("scancel", next(job for job in running() if job != limited))
    wait(lambda: done(shared) >= 4 and running())
    slurm("scontrol", "requeue", running()[0])
    slurm("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
    wait(lambda: not slurm("squeue", "-h"))
    state = json.loads((folder / "sweep.json").read_text())
    assert state["failed"] == 0, list(tmp_path.glob(f"slurm-{array}*.out"))
    assert results_of(shared) == quiet


def test_two_tasks_on_two_nodes_train_one_model_together(slurm, small, tmp_path):
    """Lightning finds its processes in Slurm's own variables; the scores are those of one."""
    still = ("optimizer.lr=0.0", "batch.eval_tokens=64", "search=greedy")  # weights of the seed
    nodes = ("trainer=ddp", "trainer.accelerator=cpu", "trainer.devices=1", "trainer.num_nodes=2")

    def scores(name, *prefix, words=()):
        folder = f"paths.results={tmp_path / name}"
        slurm(*prefix, sys.executable, "-m", "ablate", *small, *still, *words, folder)
        (test,) = (tmp_path / name).glob("runs/*/tests/*/result.json")
        return json.loads(test.read_text())

    two = scores("two", "srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", words=nodes)
    single = scores("one")
    tested = {name for name in single["metrics"] if name.startswith("test/")}
    assert tested
    assert {name: two["metrics"][name] for name in tested} == pytest.approx(
        {name: single["metrics"][name] for name in tested}
    )
