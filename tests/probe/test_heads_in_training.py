"""The probe of heads that begin alike."""

import pytest

SMALL = ("model.n_layers=1", "model.dropout.rate=0.0", "model.dropout.attention=0.2")


@pytest.fixture
def trained(measure):
    def trained(*overrides, **keys):
        brief = {"draws": 2, "length": 4, "steps": 5, **keys}
        return measure("heads_in_training", *SMALL, *overrides, **brief)

    return trained


def test_only_an_asymmetry_parts_heads(trained):
    metrics = trained()
    assert metrics["alike"] < 1e-12
    assert min(metrics["other_outputs"], metrics["dropped"], metrics["independent"]) > 1e-4
