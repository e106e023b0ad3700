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


def test_heads_that_do_not_all_learn_are_seen(trained, monkeypatch):
    from ablate.model.attention.multi_head import MultiHeadAttention

    merge = MultiHeadAttention.merge

    def first_alone(self, heads, x):
        heads = heads.clone()
        heads[:, 1:] = heads[:, 1:].detach()
        return merge(self, heads, x)

    monkeypatch.setattr(MultiHeadAttention, "merge", first_alone)
    assert trained()["alike"] > 1e-4
