"""The probe of dot products and of what one head can do."""

import pytest
import torch

from ablate.errors import UserError

ZERO = (
    *("equal_excess", "equal_order", "cosine_order", "symmetric_error", "roles_leak"),
    *("remixed_weights", "sharing_gap", "sum_gap", "above_half", "pattern_gap", "blind_spot"),
    *("conv_error", "identical_error"),
)


@pytest.fixture
def probed(measure):
    model = ("model.n_layers=1", "model.n_heads=1")
    return lambda *overrides: measure("dot_product_powers", *model, *overrides, draws=2, length=8)


def test_what_is_always_so_and_what_is_not(probed):
    found = probed("model.d_model=4")
    assert max(found[name] for name in ZERO) < 1e-12
    others = found.keys() - {*ZERO, "random_missed"}
    assert min(found[name] for name in others) > 1e-3
    assert found["sigmoid_above_half"] > 0.49
    assert found["opposed_order"] == pytest.approx(2)
    assert found["product_kurtosis"] == pytest.approx(6, abs=1.5)


@torch.no_grad()
def test_the_worst_word_is_worse_than_any_of_many():
    from ablate.claims.probe.attention.divided_heads import with_heads
    from ablate.claims.probe.attention.dot_product_powers import scores, three_maps, worst

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 3, generator=generator, dtype=torch.float64)
    others = torch.randn(10_000, 3, generator=generator, dtype=torch.float64)
    others *= x.norm() / others.norm(dim=1, keepdim=True)
    for own in three_maps(with_heads(3, 1, 3, generator)):
        best = (scores(own, x, others) - scores(own, x, x)).max()
        assert best <= worst(own, x) + 1e-12
        assert best == pytest.approx(worst(own, x), abs=0.1)


def test_a_softmax_that_cannot_be_sharp_is_seen(probed, monkeypatch):
    from ablate.model.attention import explicit

    plain = explicit.softmax
    monkeypatch.setattr(explicit, "softmax", lambda scores: plain(scores / 100))
    found = probed()
    assert min(found["sharing_gap"], found["pattern_gap"], found["conv_error"]) > 0.05


def test_other_heads_and_values_in_the_scores_are_seen(probed, monkeypatch):
    from ablate.model.attention.multi_head import MultiHeadAttention

    plain = MultiHeadAttention.project

    def project(self, x, packed):
        heads = plain(self, x, packed)
        return tuple(one * (1 + torch.arange(len(heads[0][0]))[:, None, None]) for one in heads)

    monkeypatch.setattr(MultiHeadAttention, "project", project)
    assert probed()["identical_error"] > 1e-3


def test_several_heads_are_refused(probed):
    with pytest.raises(UserError, match=r"one head of the model's width, not at 2 of width 8"):
        probed("model.n_heads=2")
