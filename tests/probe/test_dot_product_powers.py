"""The probe of dot products and of what one head can do."""

import pytest
import torch

ZERO = (
    *("equal_excess", "equal_order", "cosine_order", "symmetric_error", "roles_leak"),
    *("remixed_weights", "sharing_gap", "sum_gap", "above_half", "pattern_gap", "blind_spot"),
    *("conv_error", "identical_error"),
)


OF_HEADS, OF_CONVOLUTIONS = ("identical_error", "other_heads"), ("conv_error", "conv_fewer_heads")


@pytest.fixture
def probed(measure):
    model = ("model.n_layers=1", "model.n_heads=1")
    return lambda *overrides: measure("dot_product_powers", *model, *overrides, draws=2, length=8)


def test_what_is_always_so_and_what_is_not(probed):
    metrics = probed("model.d_model=4")
    assert max(metrics[name] for name in ZERO) < 1e-12
    nonzero = metrics.keys() - {*ZERO, "random_missed"}
    assert min(metrics[name] for name in nonzero) > 1e-3
    assert metrics["sigmoid_above_half"] > 0.49
    assert metrics["opposed_order"] == pytest.approx(2)
    assert metrics["product_kurtosis"] == pytest.approx(6, abs=1.5)


@torch.no_grad()
def test_the_worst_word_is_worse_than_any_of_many():
    from experiments.dot_product_powers.probe import scores, three_maps, worst
    from experiments.shared.probe.divided_heads import with_heads

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 3, generator=generator, dtype=torch.float64)
    vectors = torch.randn(10_000, 3, generator=generator, dtype=torch.float64)
    vectors *= x.norm() / vectors.norm(dim=1, keepdim=True)
    for attention in three_maps(with_heads(3, 1, 3, generator)):
        best = (scores(attention, x, vectors) - scores(attention, x, x)).max()
        assert best <= worst(attention, x) + 1e-12
        assert best == pytest.approx(worst(attention, x), abs=0.1)


def test_a_softmax_that_cannot_be_sharp_is_seen(probed, monkeypatch):
    from ablate.model.attention import explicit

    plain = explicit.softmax
    monkeypatch.setattr(explicit, "softmax", lambda scores: plain(scores / 100))
    metrics = probed()
    assert min(metrics["sharing_gap"], metrics["pattern_gap"], metrics["conv_error"]) > 0.05
