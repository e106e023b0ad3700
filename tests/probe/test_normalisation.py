"""The probe of norms: moments, the formula, and what an output depends on."""

import pytest
from torch.nn import functional as F

SMALL = dict(draws=2, length=3)


@pytest.fixture
def probed(measure):
    return lambda norm: measure("normalisation", f"model/norm={norm}", **SMALL)


def test_layer_norm_is_the_formula(probed):
    metrics = probed("layer_norm")
    assert metrics["formula"] < 1e-12
    assert metrics["moments"] < 1e-4


def test_the_listing_divides_by_one_less(probed):
    metrics = probed("std_eps")
    assert metrics["moments"] == pytest.approx(1 / 16, rel=0.01)  # d_model is 16
    assert metrics["formula"] > 0.01


def test_rms_norm_keeps_the_mean(probed):
    assert probed("rms_norm")["moments"] > 0.5


@pytest.mark.parametrize("norm", ["layer_norm", "std_eps", "rms_norm"])
def test_a_token_is_on_its_own(probed, norm):
    metrics = probed(norm)
    assert metrics["modes"] == 0
    assert metrics["company"] < 1e-12
    assert metrics["control"] > 0.001


def test_a_norm_over_the_batch_is_seen(probed, monkeypatch):
    def over_the_batch(x, *args):
        return (x - x.mean(dim=(0, 1, 2))) / x.std(dim=(0, 1, 2))

    monkeypatch.setattr(F, "layer_norm", over_the_batch)
    metrics = probed("layer_norm")
    assert min(metrics["company"], metrics["formula"], metrics["moments"]) > 0.01


def test_batch_normalisation_is_another_in_testing_and_in_other_company(probed):
    metrics = probed("layer_norm")
    assert min(metrics["batch_modes"], metrics["batch_company"]) > 0.01
