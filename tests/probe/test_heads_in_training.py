"""The probe of heads that begin alike."""

import math

import pytest

from ablate.errors import UserError

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


def test_heads_have_no_biases_if_the_model_has_none(trained):
    assert trained("model.bias=false")["alike"] < 1e-12


def test_weights_that_are_not_numbers_are_reported(trained, monkeypatch):
    from experiments.heads_in_training import probe as heads_in_training

    values = iter([0.0] * 4 + [math.nan] * 4)
    monkeypatch.setattr(heads_in_training, "apart", lambda model: next(values))
    assert all(map(math.isnan, trained().values()))


def test_no_step_is_refused(trained):
    with pytest.raises(UserError, match=r"probe\.steps=0: it must be at least 1"):
        trained(steps=0)
