"""Language models on packed contexts: what they measure, write, and how they go on after a kill."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run

ROOT = Path(__file__).resolve().parents[2]
SIZES = ("n_layers=1", "d_model=16", "d_ff=32", "n_heads=2")
TINY = (
    *("scale=language", "logger=none", "data=text", "data.documents=paragraph"),
    *(f"model.{size}" for size in SIZES),
    *("batch.context=8", "batch.tokens=64", "batch.eval_tokens=32", "checkpoint.save_every=1"),
    *("budget.steps=30", "budget.warmup=2", "budget.validate_every=14"),
    "trainer.log_every_n_steps=1",
)


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
def words(tmp_path):
    """The overrides of a run on a text of speeches, of which an epoch has some ten batches."""
    rng = random.Random(3)
    speeches = [
        " ".join(rng.choices(["ab", "cd", "efg", "h"], k=rng.randint(1, 9))) for _ in range(60)
    ]
    (tmp_path / "play.txt").write_text("\n\n".join(speeches))
    text = f"data.files=[{tmp_path / 'play.txt'}]"
    return lambda results, *more: [
        *TINY,
        text,
        f"paths.cache={tmp_path / 'cache'}",
        f"paths.results={tmp_path / results}",
        *more,
    ]


@pytest.fixture
def go(words, compose):
    return lambda results, *more: run(resolve(compose(*words(results, *more))))


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [(), ("model/parametrisation=mup", "initial=zero_output", "optimizer.decayed=[embeddings]")],
)
def test_a_run_killed_in_the_middle_of_an_epoch_goes_on_to_the_bit(
    words, compose, more, monkeypatch
):
    def go(results):
        short = ("budget.steps=22", "budget.validate_every=11")
        return run(resolve(compose(*words(results, *short, *more))))

    whole = go("whole")
    real, steps = Training.training_step, []

    def dying(self, *args):
        steps.append((self.trainer.current_epoch, args[-1]))
        if len(steps) in (6, 19):
            raise Killed
        return real(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "training_step", dying)
        for _ in range(2):
            with pytest.raises(Killed):
                go("killed")
        resumed = go("killed")
    assert steps[5][1] > 0 and steps[18][0] > 0 and steps[18][1] > 0
    assert resumed["metrics"] == whole["metrics"]
    weights = [torch.load(f"{result['folder']}/weights.pt") for result in (whole, resumed)]
    assert all(a.equal(b) for a, b in zip(*(w.values() for w in weights), strict=True))


def test_what_is_measured_is_that_of_the_text(go, tmp_path):
    result = go("measured", "tokenizer=byte")
    text = (tmp_path / "play.txt").read_bytes()
    metrics = result["metrics"]
    rows = np.load(f"{result['evaluation']}/test.stats.npz")["nll"]
    nll, tokens = rows.sum(0)
    assert metrics["test/nll"] == pytest.approx(nll / tokens, rel=1e-6)
    (start,) = (at + 1 for at in [text.find(b"\n", int(len(text) * 0.95))])
    size = len(text[start:])
    assert metrics["test/bpb"] == pytest.approx(nll / math.log(2) / size, rel=1e-6)
    assert metrics["test/nll_per_character"] == pytest.approx(nll / size, rel=1e-6)
    assert metrics["val/bpb"] > 0 and metrics["unigram_bpb"] > metrics["unigram_nll"]


@pytest.mark.slow
def test_two_processes_go_on_to_the_bit(words, tmp_path):
    devices = ("trainer=ddp", "trainer.devices=2", "trainer.accelerator=cpu")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    def start(results):
        command = [sys.executable, "-m", "ablate", *words(results, *devices, "budget.steps=60")]
        return subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL)

    def result(results):
        (path,) = (tmp_path / results).glob("runs/*/result.json")
        return json.loads(path.read_text())["metrics"]

    assert start("whole").wait() == 0
    process = start("killed")
    while process.poll() is None:
        lines = (p.read_text().count("\n") for p in tmp_path.glob("killed/runs/*/metrics.jsonl"))
        if sum(lines) >= 8:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 143
    assert start("killed").wait() == 0
    assert result("killed") == result("whole")
