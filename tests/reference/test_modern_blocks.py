"""Blocks that see more than their input, capped logits and maps without biases, by hand."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ablate.loss import CrossEntropy, LabelSmoothing
from ablate.model import Causal
from ablate.model.head import SoftCap
from ablate.testing.model import model_config, small_model

from .conftest import same

SMALL = ("model/position=none", "model/attention=explicit", "model.dropout.rate=0.0")
TOKENS = torch.randint(4, 20, (3, 7), generator=torch.Generator().manual_seed(0))


def decoder(*words):
    model = small_model(model_config(*SMALL, *words, size="decoder_only"))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / 10)
    return model


def heads(x, weight):
    return (x @ weight.weight.T + weight.bias).view(3, 7, 2, 8).transpose(1, 2)


def attention(layer, x, values=None):
    """Return the attention of a layer written out, and its values."""
    q, k, v = (heads(x, m) for m in (layer.query, layer.key, layer.value))
    v = v if values is None else (values + v) / 2
    scores = q @ k.mT / 8**0.5 + torch.ones(7, 7).triu(1) * -1e9
    mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(3, 7, 16)
    return layer.output(mixed), v


def feed_forward(layer, x):
    return layer.outer(F.relu(layer.inner(x)))


def normal(norm, x):
    return F.layer_norm(x, (16,), norm.gain, norm.bias)


def test_parallel():
    model = decoder("model/block=parallel", "model/residual=pre_ln")
    residual = model.decoder.residual
    assert len(residual.norms) == 2
    x = model.embedding.embed_tgt(TOKENS)
    for layer, norm in zip(model.decoder.layers, residual.norms, strict=True):
        read = normal(norm, x)
        attended, _ = attention(layer["self_attention"], read)
        x = x + attended + feed_forward(layer["feed_forward"], read)
    same(
        model(Causal(TOKENS)),
        normal(residual.final_norm, x),
        *model.parameters(),
        rtol=1e-3,
        atol=1e-4,
    )


def test_values_of_the_first_layer():
    model = decoder("model/values=first_layer", "model/residual=pre_ln", "model.n_layers=3")
    norms = iter(model.decoder.residual.norms)
    x, first = model.embedding.embed_tgt(TOKENS), None
    for layer in model.decoder.layers:
        attended, values = attention(layer["self_attention"], normal(next(norms), x), first)
        first = values if first is None else first
        x = x + attended
        x = x + feed_forward(layer["feed_forward"], normal(next(norms), x))
    expected = normal(model.decoder.residual.final_norm, x)
    same(model(Causal(TOKENS)), expected, *model.parameters(), rtol=1e-3, atol=1e-4)


def test_a_map_without_a_bias_is_the_map_with_a_bias_of_zeros():
    with_biases, without = (
        decoder("model/feed_forward=swiglu", f"model.bias={bias}") for bias in ("true", "false")
    )
    with_biases.load_state_dict(without.state_dict(), strict=False)
    for part in with_biases.modules():
        if isinstance(part, nn.Linear):
            nn.init.zeros_(part.bias)
    torch.testing.assert_close(with_biases(Causal(TOKENS)), without(Causal(TOKENS)))


@pytest.mark.parametrize("cap", [0.5, 30.0])
@pytest.mark.parametrize("loss", [CrossEntropy(), LabelSmoothing(epsilon=0.1, target="vocab")])
def test_soft_capped_logits(cap, loss):
    weight, states = (torch.randn(n, 6, requires_grad=True) for n in (12, 9))
    targets = torch.randint(1, 12, (9,))
    logits = states @ weight.T
    e = torch.exp(2 * logits / cap)
    expected = cap * (e - 1) / (e + 1)
    head = SoftCap(weight=lambda: weight, cap=cap)
    torch.testing.assert_close(head(states), expected)
    assert head(1000 * states).abs().max() <= cap
    result = head.score(loss, states, targets)
    torch.testing.assert_close(result, loss(expected, targets))
    same(result[0], loss(expected, targets)[0], weight, states)
