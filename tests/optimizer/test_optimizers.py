"""Optimisers by role: which parameter has which, Muon against torch's, and one state for both."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ablate.adapt.modules import LoRA
from ablate.model import Causal
from ablate.optimizer import AdamW, Trainable, trainables
from ablate.optimizer.muon import Muon, Orthogonal
from ablate.testing.model import model_config, small_model

ADAM = {"lr": 0.01, "betas": [0.9, 0.99], "eps": 1e-8, "weight_decay": 0.1}
MUON = {**ADAM, "momentum": 0.95, "steps": 5}
TOKENS = torch.randint(4, 20, (3, 7), generator=torch.Generator().manual_seed(0))


def roles(module):
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    return {names[id(p.parameter)]: p.role for p in trainables(module)}


def decoder(*words):
    return small_model(model_config(*words, size="decoder_only"))


@pytest.mark.parametrize(
    ("words", "name", "role"),
    [
        ((), "embedding.tgt.weight", "embeddings"),
        (("model/embedding=separate",), "embedding.output.weight", "embeddings"),
        (("model/position=learned",), "decoder.position.table", "embeddings"),
        (("model/attention=sink",), "decoder.layers.0.self_attention.kernel.sink", "embeddings"),
        ((), "decoder.layers.0.self_attention.query.weight", "matrices"),
        (("model/attention=gated",), "decoder.layers.1.self_attention.kernel.gate.weight",
         "matrices"),
        ((), "decoder.layers.0.feed_forward.outer.bias", "biases"),
        ((), "decoder.residual.norms.0.gain", "norms"),
        ((), "decoder.residual.norms.0.bias", "biases"),
        (("model/norm=dynamic_tanh",), "decoder.residual.final_norm.alpha", "norms"),
        (("model/attention=qk_norm",), "decoder.layers.0.self_attention.kernel.key_gain", "norms"),
    ],
)  # fmt: skip
def test_roles(words, name, role):
    assert roles(decoder(*words))[name] == role


@pytest.mark.parametrize(
    ("module", "parts"),
    [(nn.MultiheadAttention(8, 2), [3, 1]), (nn.LSTM(4, 8), [4, 4]), (nn.GRU(4, 8), [3, 3])],
)
def test_matrices_that_hold_several_maps(module, parts):
    assert [p.parts for p in trainables(module) if p.role == "matrices"] == parts


@pytest.mark.parametrize(
    ("maps", "role"), [(["query", "feed_forward.inner"], "matrices"), (["embedding"], "embeddings")]
)
def test_low_rank_updates_have_the_role_of_the_matrix_that_they_change(maps, role):
    model = decoder("model/embedding=separate")
    LoRA(rank=2, alpha=4, maps=maps)(model, seed=1)
    assert {p.role for p in trainables(model)} == {role}


@pytest.mark.parametrize("shape", [(5, 12), (12, 5), (1, 7)])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_muon_is_torchs(shape, decay, monkeypatch):
    """In float32 on both sides: torch's own rounds to bfloat16."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda x: x.clone())
    ours, theirs = (nn.Parameter(torch.ones(shape)) for _ in range(2))
    settings = {"lr": 0.02, "momentum": 0.9, "weight_decay": decay}
    optimizers = (
        Orthogonal([Trainable(ours, "matrices")], **settings, steps=5),
        torch.optim.Muon([theirs], **settings, ns_steps=5, adjust_lr_fn="match_rms_adamw"),
    )
    for _ in range(4):
        gradient = torch.randn(shape)
        for parameter, optimizer in zip((ours, theirs), optimizers, strict=True):
            parameter.grad = gradient.clone()
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("parts", [3])
def test_packed_matrices_step_as_those_they_hold(parts):
    packed = nn.Parameter(torch.randn(parts * 6, 5))
    single = [nn.Parameter(part.clone().detach()) for part in packed.chunk(parts)]
    settings = {"lr": 0.1, "momentum": 0.9, "steps": 5, "weight_decay": 0.1}
    optimizers = (
        Orthogonal([Trainable(packed, "matrices", parts)], **settings),
        Orthogonal([Trainable(p, "matrices") for p in single], **settings),
    )
    for _ in range(3):
        packed.grad = torch.randn_like(packed)
        for part, gradient in zip(single, packed.grad.chunk(parts), strict=True):
            part.grad = gradient.clone()
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(packed.data, torch.cat(single).data)


def train(model, optimizer, schedule, steps):
    for _ in range(steps):
        logits = model.head(model(Causal(TOKENS)))
        optimizer.zero_grad()
        F.cross_entropy(logits[:, :-1].flatten(0, 1), TOKENS[:, 1:].flatten()).backward()
        optimizer.step()
        schedule.step()


@pytest.mark.parametrize(
    "decayed", [[], ["matrices"], ["matrices", "embeddings"], ["norms", "biases"]]
)
@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_roles_decay_as_chosen(kind, decayed):
    model = decoder()
    make = {
        "adamw": lambda: AdamW(model, **ADAM, decayed=decayed, fused=True),
        "muon": lambda: Muon(model, **MUON, decayed=decayed),
    }
    optimizer = make[kind]()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0)
            parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for parameter, role, *_ in trainables(model):
        expected = 1 - 0.01 * 0.1 if role in decayed else 1.0
        torch.testing.assert_close(parameter.data, torch.full_like(parameter, expected))


def test_decay_of_all_roles_is_torchs_adamw():
    first, second = decoder(), decoder()
    ours = AdamW(first, **ADAM, decayed=["matrices", "embeddings", "norms", "biases"], fused=False)
    theirs = torch.optim.AdamW(second.parameters(), **{**ADAM, "betas": (0.9, 0.99)})
    for model, optimizer in ((first, ours), (second, theirs)):
        train(model, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0), 3)
    for parameter, other in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(parameter, other, rtol=0, atol=0)
