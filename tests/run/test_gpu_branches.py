"""The branches that training and decoding take on a GPU, tried without one."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from pytorch_lightning.callbacks import Callback
from torch.utils._python_dispatch import TorchDispatchMode

from ablate import process
from ablate.data import PAD
from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve
from ablate.train.run import run

MODELS = {
    "translator": (),
    "language_model": ("task=language_model", "model=decoder_only", "model/position=rotary"),
}


@pytest.fixture
def on_gpu(monkeypatch):
    monkeypatch.setattr(process, "uses_cpu_path", lambda device: False)


@pytest.fixture
def first_batch(small, compose):
    """A padded training batch, with its job and its data."""

    def made(*overrides):
        words = [word for word in small if not word.startswith("search.")]
        job = resolve(compose(*words, "batch.bucket=false", *overrides))
        data = prepare_data(job)
        batch = next(iter(data.train_dataloader()))
        assert (batch.targets == PAD).any() and batch.real is not None
        return job, data, batch

    return made


def objective(job, model, batch):
    states = model(batch.inputs).flatten(0, 1).index_select(0, batch.real)
    targets = batch.targets.flatten().index_select(0, batch.real)
    return model.head.score(job.loss, states, targets)[0]


@pytest.mark.parametrize(
    "words",
    [
        *MODELS.values(),
        ("loss=label_smoothing", "model/padding=rows", "model/attention=sink"),
        ("model/position=alibi", "model/attention=explicit"),
        ("model/norm=batch_norm", "model=decoder_only"),
    ],
)
def test_both_branches_compute_the_same_gradients(first_batch, words, monkeypatch):
    job, data, batch = first_batch(*words, "model.dropout.rate=0.0")
    model, gradients = make_model(job, data), []
    for on_gpu in (False, True):
        if on_gpu:
            monkeypatch.setattr(process, "uses_cpu_path", lambda device: False)
        model.zero_grad()
        objective(job, model, batch).backward()
        gradients.append([p.grad for p in model.parameters()])
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


class Spoiler(Callback):
    """Makes a gradient NaN at one step, and keeps the weights before this step."""

    def __init__(self, step):
        self.step = step

    def on_after_backward(self, trainer, module):
        if trainer.global_step + 1 == self.step:
            self.module = module
            self.before = {k: v.clone() for k, v in module.model.state_dict().items()}
            next(module.model.parameters()).grad[0] = torch.nan


@pytest.mark.parametrize(
    ("place", "optimizer"),
    [
        ("cpu", ()),
        ("gpu", ("optimizer.fused=false",)),
        ("gpu", ("optimizer=muon", "optimizer.weight_decay=0.5")),
    ],
)
def test_a_gradient_that_is_not_finite_changes_no_weight(small, compose, request, place, optimizer):
    if place == "gpu":
        request.getfixturevalue("on_gpu")
    words = ("budget.steps=8", "budget.validate_every=8", "trainer.log_every_n_steps=5")
    spoiler = Spoiler(3)
    job = resolve(compose(*small, *words, *optimizer))
    result = run(dataclasses.replace(job, callbacks={"spoil": spoiler}))
    assert result["status"] == "diverged"
    assert result["metrics"]["steps"] == 3
    weights = spoiler.module.model.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in spoiler.before.items())
    rows = [
        json.loads(line)
        for line in Path(result["folder"], "metrics.jsonl").read_text().splitlines()
    ]
    noticed = max(row["step"] for row in rows)
    assert noticed <= (3 if place == "cpu" else 5)


class Reads(TorchDispatchMode):
    """Counts the numbers that are read from tensors."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.split("::")[1]
        self.count += name in ("_local_scalar_dense", "nonzero")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_a_search_reads_once_in_eight_tokens(first_batch, search, monkeypatch):
    long = ("search.max_ratio=0", "search.max_extra=40")
    job, data, batch = first_batch(f"search={search}", *long)
    model, src = make_model(job, data).eval(), batch.inputs.src[:5]
    expected = job.search(model, src)
    assert max(map(len, expected)) == 40
    monkeypatch.setattr(process, "uses_cpu_path", lambda device: False)
    with Reads() as reads:
        translations = job.search(model, src)
    assert translations == expected
    assert reads.count <= 40 / 8 + 2
