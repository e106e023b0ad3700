"""The probe of fast weights: both forms of linear attention, and what is not one of them."""

import pytest

OTHERS = ("uncausal_error", "softmax_error", "delta_error", "roles_swapped", "gradient_size")


@pytest.fixture
def probed(measure, monkeypatch):
    from experiments.fast_weights import probe as fast_weights

    monkeypatch.setattr(fast_weights, "UPDATES", 5)

    def probed(*overrides):
        linear = ("model/attention=linear", "model.n_layers=1")
        return measure("fast_weights", *linear, *overrides, draws=2, length=5)

    return probed


@pytest.mark.parametrize("features", ["identity", "elu_plus_one"])
def test_a_programmer_is_linear_attention(probed, features):
    chosen = f"model.attention.feature_map={features}"
    plain, divided = (
        probed(chosen, f"model.attention.normalised={word}") for word in ("false", "true")
    )
    for metrics in (plain, divided):
        assert max(metrics["two_states_error"], metrics["gradient_error"]) < 1e-9
        assert metrics["removing_error"] < 1e-12
        assert min(metrics[name] for name in OTHERS) > 1e-3
    assert plain["one_matrix_error"] < 1e-12
    assert divided["one_matrix_error"] > 0.01
    assert plain["loss_removed"] > 0.01


def test_a_delta_rule_that_only_adds_is_seen(probed, monkeypatch):
    from ablate.model.attention import linear

    def add(state, key, value, strength):
        return state + key.mT @ (strength * value)

    monkeypatch.setattr(linear, "written", add)
    metrics = probed("model.attention.normalised=false")
    assert metrics["delta_error"] < 1e-12
    assert metrics["removing_error"] > 1e-3
