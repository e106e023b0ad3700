"""Single parts against torch's, and sinusoids against the formula."""

import math

import pytest
import torch
from torch import nn


@pytest.mark.parametrize("n_keys", [6, 19])
def test_multi_head_attention(n_keys):
    from ablate.model.attention.explicit import Explicit
    from ablate.model.attention.multi_head import CrossAttention
    from ablate.model.inspect import weights_of
    from ablate.model.padding import Columns, Mask
    from ablate.model.position import NoPosition
    from ablate.model.sublayer import LayerContext, Memory
    from experiments.blocks_against_torch.torch_twin import attention_pairs

    kernel = Explicit(d_head=4, dropout=0.0, scale="sqrt_d_head", fill="zero_output")
    ours = CrossAttention(d_model=12, n_heads=3, d_head=4, kernel=kernel, padding=Columns())
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    nn.init.normal_(theirs.in_proj_bias)
    nn.init.normal_(theirs.out_proj.bias)
    with torch.no_grad():
        for parameter, packed, rows in attention_pairs(ours, theirs):
            parameter.copy_(packed[rows])
    x, memory = torch.randn(2, 5, 12), torch.randn(2, n_keys, 12)
    real = torch.arange(n_keys) < torch.tensor([n_keys, 3])[:, None]
    out, weights = theirs(x, memory, memory, key_padding_mask=~real, average_attn_weights=False)
    everywhere = torch.ones(2, 5, dtype=torch.bool)
    at = LayerContext(
        torch.arange(5)[None], NoPosition(d_model=12), everywhere, Memory(memory, real)
    )
    torch.testing.assert_close(ours(x, at), out)
    q = ours.query(x).view(2, 5, 3, 4).transpose(1, 2)
    keys, values = ours.keys_values(memory)
    our_weights = weights_of(kernel, q, keys, values, Mask(keys=real), None)
    torch.testing.assert_close(our_weights, weights)


def test_std_eps_by_torch_std():
    from ablate.model.norm import StdEps

    x = torch.randn(3, 4, 10) * 5 + 2
    expected = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 0.5)
    torch.testing.assert_close(StdEps(d_model=10, eps=0.5)(x), expected)


@pytest.mark.parametrize(("position", "pair"), [(0, 0), (1, 3), (700, 2)])
def test_sinusoids(position, pair):
    from ablate.model.position.added import Sinusoidal

    d_model = 12
    zeros = torch.zeros(1, 3, d_model)
    paper = Sinusoidal(d_model=d_model, layout="interleaved", spacing="half")
    positions = torch.arange(position, position + 3)[None]
    row = paper.embed(zeros, positions)[0, 0]
    angle = position / 10000 ** (2 * pair / d_model)
    assert row[2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert row[2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)

    tensor2tensor = Sinusoidal(d_model=d_model, layout="halves", spacing="half_minus_one")
    row = tensor2tensor.embed(zeros, positions)[0, 0]
    angle = position * math.exp(-pair * math.log(10000) / (d_model / 2 - 1))
    assert row[pair].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert row[d_model // 2 + pair].item() == pytest.approx(math.cos(angle), abs=1e-6)
