"""Blocks, feed-forward networks and torch's layers: what is equal, and what a fault would show."""

import pytest
import torch

NOTHING = 1e-9
SOMETHING = 1e-3


@pytest.mark.parametrize("residual", ["post_ln", "pre_ln"])
def test_stacks_are_those_of_torch(measure, residual):
    metrics = measure("blocks", f"model/residual={residual}", draws=1)
    for name in ("twin_difference", "wrong_parts", "shape_changes"):
        assert metrics.pop(name) < NOTHING, name
    if residual == "pre_ln":  # torch.nn.Transformer ends Post-LN with norms too
        assert metrics.pop("extra_norms") < NOTHING
    assert min(metrics.values()) > SOMETHING


def test_feed_forward_networks_look_at_one_position(measure):
    metrics = measure("feed_forward", draws=2)
    same = ("width_change", "other_positions", "between_positions", "relu_error")
    assert all(metrics.pop(name) < NOTHING for name in same)
    assert metrics.pop("bend_without_negatives") < 1e-6
    assert min(metrics.values()) > SOMETHING


def test_an_activation_that_keeps_negatives_is_noticed(measure, monkeypatch):
    from ablate.model import feed_forward

    leaky = torch.nn.functional.leaky_relu
    monkeypatch.setitem(feed_forward.ACTIVATIONS, "relu", leaky)
    assert measure("feed_forward", draws=1)["relu_error"] > SOMETHING
    monkeypatch.setitem(feed_forward.ACTIVATIONS, "relu", feed_forward.identity)
    metrics = measure("feed_forward", draws=1)
    assert metrics["bend"] < NOTHING
    assert metrics["relu_error"] == metrics["without_relu"] > SOMETHING


def test_torch_layers_by_their_formulas(measure):
    metrics = measure("torch_layers", draws=2)
    same = ("post_of_post", "pre_of_pre", "wrong_shapes", "layouts", "dropout_difference")
    assert all(metrics.pop(name) < NOTHING for name in (*same, "fast_shape"))
    assert min(metrics.values()) > SOMETHING
