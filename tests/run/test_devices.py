"""Two processes find what one finds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.train.resolve import resolve
from ablate.train.run import run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def words(small, tmp_path):
    """The words of a small system that is tested as it begins: devices have batches of their own.

    Weights that no step has moved are those of the seed, whatever trains them.
    """

    def made(model, task, results, eval_tokens=64):
        still = ("optimizer.lr=0.0", f"batch.eval_tokens={eval_tokens}", "search=greedy")
        folder = f"paths.results={tmp_path / results}"
        return [*small, f"model={model}", f"task={task}", *still, folder]

    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "task", "eval_tokens"),
    [
        ("decoder_only", "language_model", 64),
        # the whole split is one batch, so that one of the processes has nothing to score
        ("micro", "translation", 8192),
    ],
)
def test_scores_of_two_processes_are_those_of_one(
    words, compose, tmp_path, model, task, eval_tokens
):
    devices = ("trainer=ddp", "trainer.devices=2", "trainer.accelerator=cpu")
    done = subprocess.run(
        [sys.executable, "-m", "ablate", *words(model, task, "two", eval_tokens), *devices],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    single = run(resolve(compose(*words(model, task, "one", eval_tokens))))["metrics"]
    (test,) = (tmp_path / "two").glob("runs/*/tests/*/result.json")
    distributed = json.loads(test.read_text())["metrics"]
    tested = {name for name in single if name.startswith("test/")}
    assert tested
    assert {name: distributed[name] for name in tested} == pytest.approx(
        {n: single[n] for n in tested}
    )
