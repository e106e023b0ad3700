"""The probe of losses by their gradients, and of probabilities that are zero."""

import pytest
from torch.nn import functional as F


@pytest.fixture
def probed(measure):
    return lambda **keys: measure("loss_gradients", draws=2, length=3, **keys)


@pytest.mark.parametrize("words", [5, 300])
def test_gradients_are_what_the_formula_says(probed, words):
    metrics = probed(words=words)
    assert max(metrics["subtraction"], metrics["divergence"]) < 1e-12
    assert min(metrics["subtraction_control"], metrics["divergence_control"]) > 1e-3


def test_a_softmax_is_zero_only_where_numbers_end(probed):
    metrics = probed(words=300)
    assert metrics["zeros"] == 0
    assert 0.3 < metrics["zeros_float32"] < 0.7  # below the largest logit by more than 103 of 200
    assert metrics["zeros_sparsemax"] > 0.9


def test_another_gradient_is_seen(probed, monkeypatch):
    monkeypatch.setattr(F, "cross_entropy", lambda x, y: F.nll_loss(x.sigmoid().log(), y))
    monkeypatch.setattr(F, "kl_div", lambda x, y, reduction: (x.exp() - y).square().sum())
    metrics = probed(words=20)
    assert min(metrics["subtraction"], metrics["divergence"]) > 0.01
