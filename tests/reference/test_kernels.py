"""Kernels against loops over single queries and keys, and against torch's parts, with gradients."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from .conftest import same

D_HEAD = 4


@pytest.fixture
def kernel():
    """Build a kernel from its YAML, with initial values drawn."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    from ablate.config import CONF
    from ablate.initial import initialise

    def built(level, **options):
        config = OmegaConf.load(f"{CONF}/model/attention/{level}.yaml")
        made = instantiate(config, d_head=D_HEAD, dropout=0.0, **options)()
        initialise(made, 1)
        return made

    return built


def elu_plus_one(x):
    return torch.where(x > 0, x + 1, x.exp())


def softmax_of(score):
    def out(kernel, q, keys, values):
        weights = torch.stack([score(kernel, q, k) for k in keys]).exp()
        return (weights[:, None] * torch.stack(values)).sum(0) / weights.sum()

    return out


def linear(feature, normalised):
    def out(kernel, q, keys, values):
        state, total = torch.zeros(D_HEAD, len(values[0])), torch.zeros(D_HEAD)
        for k, v in zip(keys, values, strict=True):
            state = state + torch.outer(feature(k), v)
            total = total + feature(k)
        divisor = feature(q) @ total if normalised else 1.0
        return feature(q) @ state / divisor

    return out


def delta_rule(kernel, q, keys, values):
    state = torch.zeros(D_HEAD, len(values[0]))
    for k, v in zip(keys, values, strict=True):
        f = elu_plus_one(k) / elu_plus_one(k).sum()
        b = 1 / (1 + (-kernel.strength.weight[0] @ k - kernel.strength.bias[0]).exp())
        state = state - b * torch.outer(f, f @ state) + b * torch.outer(f, v)
    return elu_plus_one(q) / elu_plus_one(q).sum() @ state


def bilinear(kernel, q, k):
    form = nn.Bilinear(D_HEAD, D_HEAD, 1, bias=False)
    form.weight = nn.Parameter(kernel.form.weight[None].detach())
    return form(q[None], k[None])[0, 0]


def cosine(kernel, q, k):
    return 10 * F.cosine_similarity(q, k, dim=0)


def additive(kernel, q, k):
    return sum(kernel.score.weight[0, e] * (q[e] + k[e]).tanh() for e in range(4))


def learned_scale(kernel, q, k):
    return kernel.factor[0] * (q * k).sum()


def mean(kernel, q, keys, values):
    return sum(values) / len(values)


REFERENCES = {
    "uniform": ({}, mean),
    "cosine": ({}, softmax_of(cosine)),
    "additive": ({}, softmax_of(additive)),
    "learned_scale": ({}, softmax_of(learned_scale)),
    "general": ({}, softmax_of(bilinear)),
    "delta_rule": ({}, delta_rule),
    "linear": ({}, linear(elu_plus_one, True)),
    "linear plain": ({"normalised": False}, linear(elu_plus_one, False)),
    "linear identity": (
        {"normalised": False, "feature_map": "identity"},
        linear(lambda x: x, False),
    ),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("case", REFERENCES)
def test_a_kernel_equals_a_loop(kernel, case, causal):
    from ablate.model.padding import Mask

    options, reference = REFERENCES[case]
    ours = kernel(case.partition(" ")[0], **options)
    q, k, v = (torch.randn(2, 2, 5, D_HEAD, requires_grad=True) for _ in range(3))
    real = torch.arange(5) < torch.tensor([5, 3])[:, None]
    rows = []
    for b in range(2):
        for h in range(2):
            for i in range(5):
                kept = [j for j in range(5) if real[b, j] and (j <= i or not causal)]
                keys, values = ([x[b, h, j] for j in kept] for x in (k, v))
                rows.append(reference(ours, q[b, h, i], keys, values))
    expected = torch.stack(rows).view(2, 2, 5, D_HEAD)
    output = ours(q, k, v, Mask(keys=real, causal=causal), None)
    same(output, expected, q, k, v, rtol=1e-3)


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_a_fixed_offset_moves_the_values(kernel, offset):
    from ablate.model.padding import Mask

    q, k, v = torch.randn(3, 2, 2, 5, D_HEAD)
    keys = torch.arange(5) < torch.tensor([5, 3])[:, None]
    output = kernel("fixed_offset", offset=offset)(q, k, v, Mask(keys=keys), None)
    for b in range(2):
        for i in range(5):
            there = 0 <= i + offset < (5, 3)[b]
            expected = v[b, :, i + offset] if there else torch.zeros(2, D_HEAD)
            assert torch.equal(output[b, :, i], expected)


def test_linformer_is_attention_to_projected_keys_and_values(kernel):
    from ablate.model.padding import Mask

    ours = kernel("linformer", rank=3, max_length=9)
    q, k, v = (torch.randn(2, 2, 5, D_HEAD, requires_grad=True) for _ in range(3))
    real = torch.arange(5) < torch.tensor([5, 3])[:, None]
    output = ours(q, k, v, Mask(keys=real), None)
    rows = []
    for b, n in enumerate((5, 3)):
        keys, values = (
            torch.stack([sum(m[r, j] * x[b, :, j] for j in range(n)) for r in range(3)], 1)
            for m, x in ((ours.key_mixtures, k), (ours.value_mixtures, v))
        )
        rows.append(F.scaled_dot_product_attention(q[b], keys, values))
    expected = torch.stack(rows)
    same(output, expected, q, k, v, *ours.parameters())
