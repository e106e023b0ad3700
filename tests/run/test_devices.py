"""Two processes find of a language model what one finds; tests/sweep has a translator."""

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
    """The words of a small language model, tested as it begins: devices have their own batches.

    Weights that no step has moved are those of the seed, whatever trains them.
    """

    def made(results):
        model = ("model=decoder_only", "task=language_model")
        still = ("optimizer.lr=0.0", "batch.eval_tokens=64", "search=greedy")
        return [*small, *model, *still, f"paths.results={tmp_path / results}"]

    return made


@pytest.mark.slow
def test_scores_of_two_processes_are_those_of_one(words, compose, tmp_path):
    devices = ("trainer=ddp", "trainer.devices=2", "trainer.accelerator=cpu")
    done = subprocess.run(
        [sys.executable, "-m", "ablate", *words("two"), *devices],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    single = run(resolve(compose(*words("one"))))["metrics"]
    (test,) = (tmp_path / "two").glob("runs/*/tests/*/result.json")
    distributed = json.loads(test.read_text())["metrics"]
    tested = {name for name in single if name.startswith("test/")}
    assert tested
    assert {name: distributed[name] for name in tested} == pytest.approx(
        {n: single[n] for n in tested}
    )
