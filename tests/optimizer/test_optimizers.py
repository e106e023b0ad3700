"""Optimisers by role: which parameter has which, Muon against torch's, and one state for both."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ablate.adapt.modules import LoRA
from ablate.errors import UserError
from ablate.model.base import Causal
from ablate.optimizer import AdamW, Trained, make_optimizer, trained
from ablate.optimizer.muon import Muon, Orthogonal, orthogonalised
from ablate.testing.model import built, model_config

ADAM = {"lr": 0.01, "betas": [0.9, 0.99], "eps": 1e-8, "weight_decay": 0.1}
MUON = {**ADAM, "momentum": 0.95, "steps": 5}
TOKENS = torch.randint(4, 20, (3, 7), generator=torch.Generator().manual_seed(0))


def roles(module):
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    return {names[id(p.parameter)]: p.role for p in trained(module)}


def decoder(*words):
    return built(model_config(*words, size="decoder_only"))


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


def test_a_head_that_is_tied_to_an_embedding_is_one():
    module = nn.ModuleDict({"head": nn.Linear(6, 9, bias=False), "table": nn.Embedding(9, 6)})
    module["head"].weight = module["table"].weight
    assert [p.role for p in trained(module)] == ["embeddings"]


@pytest.mark.parametrize(
    ("module", "parts"),
    [(nn.MultiheadAttention(8, 2), [3, 1]), (nn.LSTM(4, 8), [4, 4]), (nn.GRU(4, 8), [3, 3])],
)
def test_matrices_that_hold_several_maps(module, parts):
    assert [p.parts for p in trained(module) if p.role == "matrices"] == parts


@pytest.mark.parametrize(
    ("maps", "role"), [(["query", "feed_forward.inner"], "matrices"), (["embedding"], "embeddings")]
)
def test_low_rank_updates_have_the_role_of_the_matrix_that_they_change(maps, role):
    model = decoder("model/embedding=separate")
    LoRA(rank=2, alpha=4, maps=maps)(model, seed=1)
    assert {p.role for p in trained(model)} == {role}


def test_muon_trains_low_rank_updates():
    model = decoder()
    LoRA(rank=2, alpha=4, maps=["query"])(model, seed=1)
    before = copy.deepcopy(model.state_dict())
    optimizer, schedule = started(model)
    train(model, optimizer, schedule, 2)
    moved = {n for n, value in model.state_dict().items() if not torch.equal(value, before[n])}
    assert len(moved) == 4 and all(name.endswith(("0.a", "0.b")) for name in moved)


def test_frozen_parameters_are_left_out():
    module = nn.Linear(3, 4)
    module.weight.requires_grad_(False)
    assert [p.role for p in trained(module)] == ["biases"]


@pytest.mark.parametrize("shape", [(5, 12), (12, 5), (1, 7)])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_muon_is_torchs(shape, decay, monkeypatch):
    """In float32 on both sides: torch's own rounds to bfloat16."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda x: x.clone())
    ours, theirs = (nn.Parameter(torch.ones(shape)) for _ in range(2))
    settings = {"lr": 0.02, "momentum": 0.9, "weight_decay": decay}
    optimizers = (
        Orthogonal([Trained(ours, "matrices")], **settings, steps=5),
        torch.optim.Muon([theirs], **settings, ns_steps=5, adjust_lr_fn="match_rms_adamw"),
    )
    for _ in range(4):
        gradient = torch.randn(shape)
        for parameter, optimizer in zip((ours, theirs), optimizers, strict=True):
            parameter.grad = gradient.clone()
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(24, 8), (8, 24)])
def test_orthogonalised_in_float32_is_close_to_torchs_in_bfloat16(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    theirs = torch.optim._muon._zeropower_via_newtonschulz(
        matrix, (3.4445, -4.775, 2.0315), 5, 1e-7
    )
    ours = orthogonalised(matrix, 5)
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, theirs.float(), rtol=0.1, atol=0.05)
    values = torch.linalg.svdvals(ours)
    assert values.min() > 0.3 and values.max() < 1.4


@pytest.mark.parametrize("parts", [3])
def test_packed_matrices_step_as_those_they_hold(parts):
    packed = nn.Parameter(torch.randn(parts * 6, 5))
    single = [nn.Parameter(part.clone().detach()) for part in packed.chunk(parts)]
    settings = {"lr": 0.1, "momentum": 0.9, "steps": 5, "weight_decay": 0.1}
    optimizers = (
        Orthogonal([Trained(packed, "matrices", parts)], **settings),
        Orthogonal([Trained(p, "matrices") for p in single], **settings),
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


def started(model):
    optimizer = Muon(model, **MUON, decayed=["matrices"])
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: 1 / (1 + done))


def test_muon_goes_on_from_its_state_to_the_bit(tmp_path):
    model = decoder()
    optimizer, schedule = started(model)
    train(model, optimizer, schedule, 3)
    saved = [part.state_dict() for part in (model, optimizer, schedule)]
    torch.save(saved, tmp_path / "state")
    train(model, optimizer, schedule, 3)
    other = decoder()
    again = (other, *started(other))
    for part, state in zip(again, torch.load(tmp_path / "state"), strict=True):
        part.load_state_dict(state)
    train(*again, 3)
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_schedule_acts_on_both():
    model = decoder()
    optimizer, schedule = started(model)
    train(model, optimizer, schedule, 1)
    parts = [group["lr"] for part in optimizer.optimizers for group in part.param_groups]
    assert len(parts) == 2 and set(parts) == {0.005}


def test_every_parameter_is_trained_once():
    model = decoder("model/embedding=separate", "model/position=learned")
    before = copy.deepcopy(model.state_dict())
    optimizer, schedule = started(model)
    train(model, optimizer, schedule, 2)
    listed = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(listed) == sorted(id(p) for p in model.parameters())
    unread = {"embedding.src.weight"}  # a language model has no source
    same = {name for name, value in model.state_dict().items() if torch.equal(value, before[name])}
    assert same == unread


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
    for parameter, role, *_ in trained(model):
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


@pytest.mark.parametrize("frozen", ["decoder", "all but the table", "all but norms"])
def test_muon_without_a_matrix_is_refused(frozen):
    model = decoder()
    kept = {"decoder": "embedding", "all but the table": "tgt.weight", "all but norms": "norm"}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(kept[frozen] in name)
    with pytest.raises(UserError, match=r"optimizer=muon.*none"):
        Muon(model, **MUON, decayed=["matrices"])


@pytest.mark.parametrize("role", ["matrix"])
def test_another_role_is_refused(role):
    with pytest.raises(UserError, match=r"optimizer\.decayed"):
        AdamW(decoder(), **ADAM, decayed=[role], fused=False)


def test_torchs_optimisers_are_given_parameters(compose):
    from ablate.config.construct import construct

    model = decoder()
    for name in ("adam", "adamw"):
        optimizer = make_optimizer(construct(compose(f"optimizer={name}").optimizer), model)
        (group,) = optimizer.param_groups
        assert [id(p) for p in group["params"]] == [id(p) for p in model.parameters()]
