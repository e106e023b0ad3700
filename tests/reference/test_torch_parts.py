"""Single parts against torch's, and sinusoids against the formula."""

import math

import pytest
import torch


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
