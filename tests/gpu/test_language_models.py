"""Language models on the device: packed contexts, optimisers by role, and the scale of a GPU."""

import random
from pathlib import Path

import pytest
import torch
from torch import nn

from ablate.optimizer import Trainable
from ablate.optimizer.muon import Orthogonal, orthogonalised
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run

TINY = (
    *("logger=none", "data=text", "data.documents=paragraph"),
    *("model.n_layers=2", "model.d_model=16", "model.d_ff=32", "model.n_heads=2"),
    *("batch.context=16", "batch.tokens=64", "batch.eval_tokens=64"),
    *("budget.steps=12", "budget.warmup=2", "budget.validate_every=6"),
)
KINDS = [
    ("scale=language",),
    ("scale=language", "optimizer=muon", "model/attention=gated"),
    ("scale=language", "model/parametrisation=mup", "initial=zero_output"),
    ("scale=language", "task.attention=document", "model/attention=window",
     "model.attention.width=4"),
    ("scale=language", "model/block=parallel", "model/values=first_layer", "model/head=soft_cap"),
    ("scale=language", "model/feed_forward=swiglu", "loss=z_loss", "tokenizer=byte"),
    ("scale=language_gpu", "model/attention=differential", "model.n_heads=2"),
]  # fmt: skip


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
def go(compose, trainer, tmp_path):
    """Train with extra words in a results folder of this name."""
    random.seed(3)
    words = [" ".join(random.choices(["ab", "cd", "efg"], k=9)) for _ in range(80)]
    (tmp_path / "play.txt").write_text("\n\n".join(words))

    def went(results, *overrides):
        paths = (f"paths.results={tmp_path / results}", f"paths.cache={tmp_path / 'cache'}")
        text = f"data.files=[{tmp_path / 'play.txt'}]"
        return run(resolve(compose(*overrides, *TINY, text, *paths, *trainer)))

    return went


def weights(result):
    return torch.load(Path(result["folder"], "weights.pt"), weights_only=True, map_location="cpu")


@pytest.mark.parametrize("words", KINDS, ids=" ".join)
def test_a_killed_run_goes_on_to_the_bits_of_a_whole_one(go, monkeypatch, words):
    whole = go("whole", *words)
    real, steps = Training.training_step, []

    def dying(self, *args):
        steps.append(args[-1])
        if len(steps) == 5:
            raise Killed
        return real(self, *args)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Training, "training_step", dying)
        go("killed", *words, "checkpoint.save_every=1")
    result = go("killed", *words, "checkpoint.save_every=1")
    ours, theirs = weights(whole), weights(result)
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []
    assert result["metrics"] == whole["metrics"] and result["metrics"]["test/bpb"] > 0


@pytest.mark.parametrize("shape", [(16, 16), (48, 16), (16, 48)])
def test_muons_steps_are_those_of_the_processor_to_the_precision_of_bfloat16(device, shape):
    generator = torch.Generator().manual_seed(0)
    start, gradient = (torch.randn(shape, generator=generator) for _ in range(2))
    stepped = []
    for place in (device, torch.device("cpu")):
        parameter = nn.Parameter(start.to(place, copy=True))
        parameter.grad = gradient.to(place)
        settings = {"lr": 0.1, "momentum": 0.9, "steps": 5, "weight_decay": 0.1}
        Orthogonal([Trainable(parameter, "matrices")], **settings).step()
        assert orthogonalised(parameter.grad, 5).device.type == place.type
        stepped.append(parameter.detach().cpu())
    torch.testing.assert_close(*stepped, rtol=0.02, atol=0.02)
