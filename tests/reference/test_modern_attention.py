"""Kinds of attention of today's Transformers against loops over their formulas, with gradients."""

from math import exp

import pytest
import torch

from ablate.model.attention.fused import Gated, Sink, Window
from ablate.model.attention.linear import Differential
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.padding import Columns, Mask
from ablate.model.position import NoPosition, Rotary
from ablate.model.stack import LayerContext

from .conftest import same

FUSED = {"dropout": 0.0, "scale": "sqrt_d_head", "fill": "zero_output"}
HEADS = {"d_model": 12, "n_heads": 3, "layer": 0}


def tensors(queries, keys, width=8):
    return tuple(torch.randn(2, 3, n, width, requires_grad=True) for n in (queries, keys, keys))


def drawn(module):
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module


def read(scores, values, allowed):
    """Return the softmax-weighted values of one query that may read the allowed keys."""
    if not allowed:
        return torch.zeros_like(values[0])
    chosen = torch.stack([scores[j] for j in allowed]).exp()
    return (chosen[:, None] * values[allowed]).sum(0) / chosen.sum()


def loop(q, k, v, scores_of, allowed):
    """Return what every query reads, one after the other."""
    sentences, heads, queries, _ = q.shape
    rows = [
        read(scores_of(b, h, i), v[b, h], allowed(b, i))
        for b in range(sentences)
        for h in range(heads)
        for i in range(queries)
    ]
    return torch.stack(rows).view(*q.shape[:3], -1)


@pytest.mark.parametrize("keys", [5, 60])  # fewer than torch's kernel is worth, and more
@pytest.mark.parametrize("lengths", [(5, 5), (1, 4)])
def test_sink(keys, lengths):
    kernel = Sink(d_head=8, **FUSED)
    kernel.join(**HEADS)
    drawn(kernel)
    q, k, v = tensors(4, keys)
    real = torch.arange(keys) < torch.tensor(lengths)[:, None]
    added = torch.cat([k, kernel.sink[:, None].expand(2, -1, -1, -1)], 2)
    values = torch.cat([v, torch.zeros_like(v[:, :, :1])], 2)
    expected = loop(
        q,
        k,
        values,
        lambda b, h, i: added[b, h] @ q[b, h, i] / 8**0.5,
        lambda b, i: [*range(lengths[b]), keys],
    )
    same(kernel(q, k, v, Mask(keys=real), None), expected, q, k, v, kernel.sink)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("width", "tokens"), [(1, 6), (3, 6), (6, 7), (20, 60)])
def test_window(width, tokens, causal):
    kernel = Window(d_head=8, width=width, global_every=None, **FUSED)
    q, k, v = tensors(tokens, tokens)
    places = torch.arange(tokens)[None]
    expected = loop(
        q,
        k,
        v,
        lambda b, h, i: k[b, h] @ q[b, h, i] / 8**0.5,
        lambda b, i: [j for j in range(tokens) if abs(i - j) < width and (j <= i or not causal)],
    )
    same(kernel(q, k, v, Mask(causal=causal).at(places, places), None), expected, q, k, v)


@pytest.mark.parametrize(("every", "seeing"), [(None, []), (2, [1, 3, 5]), (6, [5]), (9, [])])
def test_layers_that_see_everything(every, seeing):
    global_layers = []
    for layer in range(6):
        kernel = Window(d_head=8, width=2, global_every=every, **FUSED)
        kernel.join(d_model=12, n_heads=3, layer=layer)
        q, k, v = tensors(5, 5)
        places = torch.arange(5)[None]
        whole = (q @ k.mT / 8**0.5).softmax(-1) @ v
        if torch.allclose(kernel(q, k, v, Mask().at(places, places), None), whole, atol=1e-5):
            global_layers.append(layer)
    assert global_layers == seeing


def attention(kernel, d_head=4):
    sizes = {"d_model": 12, "n_heads": 3, "d_head": d_head}
    return drawn(SelfAttention(**sizes, kernel=kernel, padding=Columns(), causal=True))


@pytest.mark.parametrize("position", [NoPosition(d_model=12), Rotary(d_model=12, base=100.0)])
def test_gated(position):
    layer = attention(Gated(d_head=4, **FUSED))
    x = torch.randn(2, 7, 12, requires_grad=True)
    at = LayerContext(torch.arange(7)[None], position, torch.ones(2, 7, dtype=torch.bool), None)
    q, k, v = (
        (x @ m.weight.T + m.bias).view(2, 7, 3, 4).transpose(1, 2)
        for m in (layer.query, layer.key, layer.value)
    )
    places = position.prepare(at.positions, 4, x.dtype)
    q, k = (position.rotate(heads, places) for heads in (q, k))
    later = torch.ones(7, 7).triu(1) * -1e9
    mixed = ((q @ k.mT / 2 + later).softmax(-1) @ v).transpose(1, 2).reshape(2, 7, 12)
    gate = layer.kernel.gate
    opened = mixed / (1 + torch.exp(-(x @ gate.weight.T + gate.bias)))
    expected = opened @ layer.output.weight.T + layer.output.bias
    same(layer(x, at), expected, x, gate.weight, gate.bias, layer.value.weight)


@pytest.mark.parametrize("keys", [5, 60])
@pytest.mark.parametrize("number", [0, 5])
def test_differential(number, keys):
    kernel = drawn(Differential(d_head=8, dropout=0.0, eps=1e-5))
    kernel.join(d_model=12, n_heads=3, layer=number)
    q, k, v = tensors(4, keys)
    a1, b1, a2, b2 = kernel.vectors
    initial = 0.8 - 0.6 * exp(-0.3 * number)
    weight = (a1 @ b1).exp() - (a2 @ b2).exp() + initial
    first, second = (
        (q[..., half] @ k[..., half].mT / 4**0.5).softmax(-1) @ v
        for half in ([0, 1, 4, 5], [2, 3, 6, 7])
    )
    mixed = first - weight * second
    normal = mixed / (mixed.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    expected = (1 - initial) * kernel.gain * normal
    same(kernel(q, k, v, Mask(), None), expected, q, k, v, kernel.vectors, kernel.gain)
