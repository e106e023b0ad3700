"""Norms against torch's, residuals against the sums written out, with gradients."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ablate.model.norm import LayerNorm, LayerNormNoBias, LayerNormPlain, RMSNorm

from .conftest import same


@pytest.mark.parametrize("padding", ["counted", "left_out"])
def test_batch_norm(padding):
    from ablate.model.norm import BatchNorm

    ours = BatchNorm(d_model=6, eps=1e-3, momentum=0.2, padding=padding)
    theirs = nn.BatchNorm1d(6, eps=1e-3, momentum=0.2)
    real = torch.arange(4) < torch.tensor([4, 2, 1])[:, None]
    for _ in range(3):
        x = (torch.randn(3, 4, 6) * 3 + 1).requires_grad_()
        rows = x.flatten(0, 1) if padding == "counted" else x[real]
        output, expected = ours(x, real), theirs(rows)
        output = output.flatten(0, 1) if padding == "counted" else output[real]
        same(output, expected, x)
        torch.testing.assert_close(ours.mean, theirs.running_mean)
        torch.testing.assert_close(ours.var, theirs.running_var)
    x = torch.randn(3, 4, 6)
    expected = theirs.eval()(x.flatten(0, 1)).view_as(x)
    torch.testing.assert_close(ours.eval()(x, real), expected)
    torch.testing.assert_close(ours(x[:, :1]), expected[:, :1])  # a step of decoding


NORMS = {
    LayerNorm: nn.LayerNorm(10, eps=1e-3),
    LayerNormPlain: nn.LayerNorm(10, eps=1e-3, elementwise_affine=False),
    LayerNormNoBias: nn.LayerNorm(10, eps=1e-3, bias=False),
    RMSNorm: nn.RMSNorm(10, eps=1e-3),
}


@pytest.mark.parametrize("kind", NORMS)
def test_norms_are_those_of_torch(kind):
    ours, theirs = kind(d_model=10, eps=1e-3), NORMS[kind]
    x = (torch.randn(3, 4, 10) * 5 + 2).requires_grad_()
    with torch.no_grad():
        for parameter, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            other.copy_(parameter.normal_())
    same(ours(x), theirs(x), x)


def run(residual, x, maps):
    """Return a stack of linear maps in a residual."""
    stream = residual.enter(x, None)
    for i, layer in enumerate(maps):
        stream = residual(i, stream, layer, None)
    return residual.leave(stream, None)


@pytest.fixture
def residual():
    """Build a residual around three sub-layers, told that the model is n and m layers deep."""
    from ablate.model.norm import LayerNormPlain
    from ablate.model.residual import Depth

    def built(kind, stack="decoder", n=2, m=1, sublayers=3):
        norm = partial(LayerNormPlain, d_model=6, eps=1e-5)
        return kind(norm=norm, dropout=0.0, depth=Depth(stack, sublayers, n, m))

    return built


def test_dual_streams(residual):
    from ablate.model.residual import Dual

    x = torch.randn(2, 4, 6, requires_grad=True)
    a, b, c = (nn.Linear(6, 6) for _ in range(3))
    norm = partial(F.layer_norm, normalized_shape=(6,))
    p1 = norm(x + a(x))
    p2 = norm(p1 + b(p1))
    p3 = norm(p2 + c(p2))
    expected = p3 + norm(x + a(x) + b(p1) + c(p2))
    same(run(residual(Dual), x, (a, b, c)), expected, x)


@pytest.mark.parametrize(
    "stack, n, m, alpha, beta",
    [
        ("encoder", 6, 6, 1.417938, 0.496993),
        ("decoder", 6, 6, 2.059767, 0.343295),
        ("encoder", 12, 0, 2.213364, 0.319472),
        ("decoder", 0, 12, 2.213364, 0.319472),
    ],
)
def test_deep_norm(residual, stack, n, m, alpha, beta):
    from ablate.model.residual import DeepNorm

    ours = residual(DeepNorm, stack, n, m)
    x = torch.randn(2, 4, 6, requires_grad=True)
    maps = [nn.Linear(6, 6) for _ in range(3)]
    expected = x
    for layer in maps:
        expected = F.layer_norm(alpha * expected + layer(expected), (6,))
    same(run(ours, x, maps), expected, x)
    for name in ("feed_forward.inner.weight", "cross_attention.value.weight"):
        assert ours.gain(name) == pytest.approx(beta, rel=1e-5)
    assert ours.gain("self_attention.query.weight") == 1


def test_deep_norm_scales_initial_values_and_nothing_else_of_the_model():
    from hydra import compose, initialize_config_dir

    from ablate.config import CONF
    from ablate.initial import initialise
    from ablate.model import build

    models = []
    for level in ("post_ln", "deep_norm"):
        with initialize_config_dir(str(CONF), version_base="1.3"):
            config = compose("config", ["model=micro", f"model/residual={level}"]).model
        models.append(build(config, src_vocab=9, tgt_vocab=9, joint_vocab=True))
        initialise(models[-1], 1)
    plain, deep = (dict(model.named_parameters()) for model in models)
    for name, value in plain.items():
        beta = 0.87 * 32**-0.0625 if name.startswith("encoder") else 24**-0.25
        small = "feed_forward" in name or "value" in name or "output" in name
        torch.testing.assert_close(deep[name], value * beta if small else value)
