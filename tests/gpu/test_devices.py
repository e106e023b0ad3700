"""Two GPUs find what one finds, with whole copies of the model (DDP) or shards of it (FSDP)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ablate.train.resolve import resolve
from ablate.train.run import run

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = [
    ("decoder_only", "language_model"),
    ("decoder_only", "translation"),
    ("prefix_lm", "translation"),
    ("encoder_only", "masked_language_model"),
    ("rnn", "translation"),
    ("rnn", "denoising"),
    ("micro", "translation"),
    ("micro", "denoising"),
]
pytestmark = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")


@pytest.fixture
def words(small, tmp_path):
    """The words of a small system; what its two devices train on is not what one trains on."""

    def made(model, task, results):
        lacks = ("model.n_heads", "model.d_ff") if model == "rnn" else ()
        sizes = [word for word in small if not word.startswith(lacks or "-")]
        searched = ("batch.eval_tokens=64", "search=greedy", "trainer.precision=32-true")
        folder = f"paths.results={tmp_path / results}"
        return [*sizes, f"model={model}", f"task={task}", *searched, folder]

    return made


@pytest.fixture
def on_two(words, tmp_path):
    """Train on two GPUs; return test scores and weights."""

    def trained(model, task, strategy, *overrides):
        two = ("trainer=ddp", f"trainer.strategy={strategy}", "trainer.accelerator=gpu")
        command = [*words(model, task, strategy), *two, "trainer.devices=2", *overrides]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        call = [sys.executable, "-m", "ablate", *command]
        done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        (folder,) = (tmp_path / strategy).glob("runs/*")
        (test,) = folder.glob("tests/*/result.json")
        weights = torch.load(folder / "weights.pt", weights_only=True, map_location="cpu")
        return json.loads(test.read_text())["metrics"], weights

    return trained


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
@pytest.mark.parametrize(("model", "task"), SYSTEMS)
def test_scores_of_two_gpus_are_those_of_one(on_two, words, compose, model, task, strategy):
    still = "optimizer.lr=0.0"  # weights that no step has moved are those of the seed
    two, _ = on_two(model, task, strategy, still)
    alone = compose(*words(model, task, "one"), still, "trainer.accelerator=gpu")
    single = run(resolve(alone))["metrics"]
    tested = {name: single[name] for name in single if name.startswith("test/")}
    assert tested
    assert {name: two[name] for name in tested} == pytest.approx(tested, rel=1e-4)


@pytest.mark.parametrize(("model", "task"), SYSTEMS)
def test_shards_are_trained_to_the_weights_of_whole_copies(on_two, model, task):
    (_, whole), (_, shards) = (on_two(model, task, strategy) for strategy in ("ddp", "fsdp"))
    assert whole.keys() == shards.keys()
    for name, weight in whole.items():
        torch.testing.assert_close(shards[name], weight, rtol=1e-3, atol=1e-5)
