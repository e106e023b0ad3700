"""torch.compile traces training without a break, and computes the same losses and gradients."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ablate.errors import UserError
from ablate.train.job import build_model, check_lengths, prepare_data
from ablate.train.module import Training
from ablate.train.resolve import resolve

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_option_is_one_graph_with_the_same_gradients():
    """In a process of its own, because checks of shapes would break the graphs."""
    from lab.bench.compiled_options import all_options

    command = [sys.executable, "-m", "lab.bench.compiled_options", *all_options()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) > 60


def test_recurrent_layers_are_refused_before_the_first_step(small, compose):
    words = [word for word in small if not word.startswith("search.")]
    job = resolve(compose(*words, "model/position=recurrent", "trainer.compile=default"))
    data = prepare_data(job)
    with pytest.raises(UserError, match="recurrent"):
        check_lengths(job, build_model(job, data), data)


@pytest.mark.parametrize(("context", "dynamic"), [(None, True), (16, False)])
def test_the_key_compiles_training_and_keeps_names(small, compose, monkeypatch, context, dynamic):
    settings = []
    monkeypatch.setattr(torch, "compile", lambda function, **given: settings.append(given))
    words = [word for word in small if not word.startswith("search.")]
    if context:
        words += ["task=language_model", "model=decoder_only", f"batch.context={context}"]
    names = []
    for mode in ("false", "reduce-overhead"):
        job = resolve(compose(*words, f"trainer.compile={mode}"))
        data = prepare_data(job)
        names.append([*Training(job, build_model(job, data), data).state_dict()])
    assert names[0] == names[1]
    assert settings == [{"mode": "reduce-overhead", "dynamic": dynamic}]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_compiled_run_learns_as_an_eager_one(tmp_path):
    words = ("scale=smoke_language", "logger=none", "budget.steps=6", "budget.validate_every=6")
    losses = []
    for mode in ("false", "default"):
        command = [sys.executable, "-m", "ablate", *words, f"trainer.compile={mode}"]
        folder = tmp_path / mode
        still = ("model.dropout.rate=0.0", f"paths.results={folder}")
        done = subprocess.run([*command, *still], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        (result,) = folder.glob("runs/*/result.json")
        losses.append(json.loads(result.read_text())["metrics"]["val/nll"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
