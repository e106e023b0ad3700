"""Components of today's Transformers against their formulas, written out, with gradients."""

from functools import partial

import pytest
import torch
from torch.nn import functional as F

from ablate.loss import ZLoss
from ablate.model.attention.fused import QKNorm
from ablate.model.feed_forward import Gated, PositionWise
from ablate.model.norm import DynamicTanh, LayerNorm
from ablate.model.padding import Mask
from ablate.model.residual import Depth, PeriLN
from ablate.model.stack import LayerContext
from ablate.testing.model import model_config, small_model

from .conftest import same


@pytest.mark.parametrize(
    ("activation", "formula"),
    [
        ("silu", lambda x: x / (1 + torch.exp(-x))),
        ("gelu", lambda x: x * (1 + torch.erf(x / 2**0.5)) / 2),
        ("relu", lambda x: x.clamp(min=0)),
        ("sigmoid", lambda x: 1 / (1 + torch.exp(-x))),
    ],
)
def test_gated_feed_forward(activation, formula):
    layer = Gated(d_model=6, d_ff=12, dropout=0.0, activation=activation)
    x = torch.randn(2, 5, 6, requires_grad=True)
    gate = formula(x @ layer.gate.weight.T + layer.gate.bias)
    inner = gate * (x @ layer.inner.weight.T + layer.inner.bias)
    same(layer.transform(x), inner @ layer.outer.weight.T + layer.outer.bias, x, layer.gate.weight)


def test_relu_squared():
    layer = PositionWise(d_model=6, d_ff=12, dropout=0.0, activation="relu_squared")
    x = torch.randn(2, 5, 6, requires_grad=True)
    inner = x @ layer.inner.weight.T + layer.inner.bias
    squared = torch.where(inner > 0, inner * inner, 0.0)
    same(layer.transform(x), squared @ layer.outer.weight.T + layer.outer.bias, x)


def test_dynamic_tanh():
    norm = DynamicTanh(d_model=6, initial=0.5)
    torch.nn.init.normal_(norm.gain)
    torch.nn.init.normal_(norm.bias)
    x = torch.randn(2, 5, 6, requires_grad=True)
    e = torch.exp(2 * norm.alpha * x)
    same(norm(x), norm.gain * (e - 1) / (e + 1) + norm.bias, x, norm.alpha)


def test_peri_ln_normalises_what_is_read_and_what_is_given():
    depth = Depth("encoder", sublayers=2, encoder_layers=1, decoder_layers=0)
    residual = PeriLN(norm=partial(LayerNorm, d_model=6, eps=1e-5), dropout=0.0, depth=depth)
    x = torch.randn(2, 5, 6, requires_grad=True)
    matrix = torch.randn(6, 6)
    normal = partial(F.layer_norm, normalized_shape=(6,))
    expected = x
    for _ in range(2):
        expected = expected + normal(normal(expected) @ matrix)
    ours = residual.enter(x, None)
    for i in range(2):
        ours = residual(i, ours, lambda read: read @ matrix, None)
    same(residual.leave(ours, None), normal(expected), x)


@pytest.mark.parametrize("coefficient", [1e-4, 0.3])
def test_z_loss(coefficient):
    logits = 3 * torch.randn(9, 12, dtype=torch.float64)
    targets = torch.randint(1, 12, (9,))
    log_z = logits.exp().sum(1).log()
    nll = (log_z - logits[range(9), targets]).mean()
    x = logits.clone().requires_grad_()
    objective, unpenalised = ZLoss(coefficient=coefficient)(x, targets)
    torch.testing.assert_close(objective.detach(), nll + coefficient * (log_z**2).mean())
    torch.testing.assert_close(unpenalised, nll)
    objective.backward()
    by_logits = (1 + 2 * coefficient * log_z)[:, None] * logits.softmax(1)
    by_logits[range(9), targets] -= 1
    torch.testing.assert_close(x.grad, by_logits / 9)


@pytest.mark.parametrize("keys", [5, 60])  # fewer than torch's kernel is worth, and more
def test_qk_norm(keys):
    kernel = QKNorm(d_head=8, dropout=0.0, scale="sqrt_d_head", fill="zero_output", eps=1e-6)
    torch.nn.init.normal_(kernel.query_gain)
    torch.nn.init.normal_(kernel.key_gain)
    q, k, v = (torch.randn(2, 3, n, 8, requires_grad=True) for n in (4, keys, keys))

    def normal(x, gain):
        centred = x - x.mean(-1, keepdim=True)
        return gain * centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt()

    scores = normal(q, kernel.query_gain) @ normal(k, kernel.key_gain).mT / 8**0.5
    same(kernel(q, k, v, Mask(), None), scores.softmax(-1) @ v, q, k, v, kernel.key_gain)


@torch.no_grad()
def test_qk_norm_first_is_qk_norm_of_another_order():
    """The rotated norm of queries and keys; without a rotation it is QK-norm to the bit."""
    after, first, model = (
        small_model(model_config(*words, size="decoder_only"))
        for words in (
            ("model/position=none", "model/attention=qk_norm"),
            ("model/position=none", "model/attention=qk_norm_first"),
            ("model/position=rotary", "model/attention=qk_norm_first"),
        )
    )
    first.load_state_dict(after.state_dict())
    x, real = torch.randn(2, 9, 16), torch.ones(2, 9, dtype=torch.bool)
    assert torch.equal(first.stack(x, real), after.stack(x, real))
    attention, position = model.stack.layers[0].self_attention, model.stack.position
    for gain in (attention.kernel.query_gain, attention.kernel.key_gain):
        gain.normal_()
    places = torch.arange(9)[None]
    turns = position.prepare(places, attention.d_head, x.dtype)
    q, k, v = attention.project(x, *attention.maps)
    gains = attention.kernel.query_gain, attention.kernel.key_gain
    q, k = (
        position.rotate(F.layer_norm(y, gain.shape, gain, eps=1e-6), turns)
        for y, gain in zip((q, k), gains, strict=True)
    )
    heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    theirs = attention.output(heads.transpose(1, 2).flatten(2))
    at = LayerContext(places, position, real, None, padded=False)
    torch.testing.assert_close(attention(x, at), theirs)
