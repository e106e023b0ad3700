"""Debugging a run as with Lightning alone: its flags and hooks."""

import json
from pathlib import Path

import pytest
import torch

from ablate.initial import initialise
from ablate.loss import CrossEntropy
from ablate.model import Causal, Seq2Seq, build
from ablate.train.resolve import resolve
from ablate.train.run import run


def test_a_fast_run_takes_one_batch_of_each_kind_and_stores_nothing(compose, small, tmp_path):
    result = run(resolve(compose(*small, "trainer.fast_dev_run=true")))
    assert {"val/nll", "val/bleu", "test/nll", "test/bleu"} <= set(result["metrics"])
    assert not (tmp_path / "results").exists()


def test_the_loss_of_one_batch_again_and_again_goes_to_zero(compose, small):
    words = ("loss=cross_entropy", "model.dropout.rate=0.0", "optimizer.lr=0.02", "batch.tokens=64")
    long = ("budget.steps=100", "budget.validate_every=100", "trainer.log_every_n_steps=100")
    result = run(resolve(compose(*small, *words, *long, "trainer.overfit_batches=1")))
    lines = Path(result["folder"], "metrics.jsonl").read_text().splitlines()
    (last,) = (line["train/nll"] for line in map(json.loads, lines) if "train/nll" in line)
    assert last < 0.2 < result["metrics"]["val/nll"]


def built(compose, *words):
    sizes = ("model.d_model=16", "model.d_ff=24", "model.n_heads=2", "model.n_layers=1")
    config = compose(*sizes, *words).model
    model = build(config, src_vocab=20, tgt_vocab=20, joint_vocab=True)
    initialise(model, 1)
    return model


def objective(model):
    """The objective of a training step on a fixed batch, and the gradients."""
    tokens = torch.arange(4, 20).view(2, 8)
    torch.manual_seed(0)
    model.zero_grad()
    states = model(Seq2Seq(tokens, tokens) if Seq2Seq in model.takes else Causal(tokens))
    value, _ = model.head.score(CrossEntropy(), states.flatten(0, 1), tokens.flatten())
    value.backward()
    return value.item(), [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize(
    "words", [("model/projections=grouped",), ("model=decoder_only",)], ids=str
)
def test_hooks_fire_on_every_module_and_change_no_number(compose, words):
    model = built(compose, *words)
    value, gradients = objective(model)
    called = set()
    kept = [
        module.register_forward_hook(lambda *_, name=name: called.add(name))
        for name, module in model.named_modules()
    ]
    hooked, hooked_gradients = objective(model)
    assert len(kept) > len(called)
    assert hooked == value
    assert all(map(torch.equal, gradients, hooked_gradients))
    with_forward = {
        name
        for name, module in model.named_modules()
        if type(module).forward is not torch.nn.Module.forward and not name.endswith(".group")
    }
    assert {"head", "decoder.layers.0.self_attention.query"} <= with_forward <= called
