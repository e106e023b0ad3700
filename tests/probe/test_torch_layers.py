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


def test_the_norms_are_those_of_a_real_transformer_of_torch(measure, monkeypatch):
    class WithoutLastNorms(torch.nn.Transformer):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.encoder.norm = self.decoder.norm = None

    monkeypatch.setattr(torch.nn, "Transformer", WithoutLastNorms)
    assert measure("blocks", draws=1)["extra_norms"] < NOTHING


def test_another_sublayer_and_another_width_are_noticed(measure, monkeypatch):
    from ablate.model.feed_forward import PositionWise

    plain = PositionWise.transform
    monkeypatch.setattr(PositionWise, "transform", lambda self, x: plain(self, x).roll(1, 1))
    assert measure("blocks", draws=1)["twin_difference"] > SOMETHING
    assert measure("feed_forward", draws=1)["other_positions"] > SOMETHING


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


def test_dropout_before_the_softmax_would_be_noticed(measure, monkeypatch):
    plain = torch.nn.functional.multi_head_attention_forward

    def on_scores(*args, training, need_weights=True, **kwargs):
        rate = args[10]
        out, weights = plain(
            *args[:10], 0.0, *args[11:], training=training, need_weights=True, **kwargs
        )
        if rate and training:
            weights = (weights.log() * (torch.rand_like(weights) > rate)).softmax(-1)
        return out, weights

    monkeypatch.setattr(torch.nn.functional, "multi_head_attention_forward", on_scores)
    metrics = measure("torch_layers", draws=1)
    assert metrics["dropout_row_error"] < NOTHING
    assert min(metrics["dropout_difference"], metrics["scores_dropped"]) > SOMETHING
