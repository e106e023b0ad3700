"""The probes of what depth does before training, and of linearity."""

import math

import pytest

SMALL = ("model.n_layers=3", "model.n_decoder_layers=1")


@pytest.fixture
def deep(measure):
    return lambda *overrides: measure("depth", *SMALL, *overrides, draws=2, length=6)


def test_tokens_fade_without_skips_and_stay_with_them(deep):
    without, with_skips = deep("model/residual=none"), deep("model/residual=pre_ln")
    assert without["token_cosine"] > 0.99
    assert without["kept"] < 0.4
    assert with_skips["kept"] > 0.8
    assert without["stable_rank"] == pytest.approx(1 / 6, abs=0.01)


@pytest.mark.parametrize(
    "overrides",
    [
        *(["model/residual=post_ln"], ["model/residual=dual"]),
        ["model/residual=pre_ln", "model/norm=none"],
    ],
)
def test_a_sublayer_can_stop_the_gradient_of_its_skip(deep, overrides):
    metrics = deep(*overrides)
    assert metrics["constructed"] < 1e-3
    assert metrics["random"] > 0.1


@pytest.mark.parametrize("residual", ["pre_ln"])
def test_no_sublayer_behind_a_norm_can_stop_the_gradient_of_its_skip(deep, residual):
    assert deep(f"model/residual={residual}")["constructed"] > 1 - 1e-9


@pytest.mark.parametrize("option", ["model.share_layers=all", "model/block=parallel"])
def test_every_use_of_a_layer_is_a_layer(deep, option, monkeypatch):
    from experiments.shared.probe import depth

    outputs, after_each_layer = [], depth.after_each_layer

    def recorded(stack, tokens, real):
        outputs.append((stack(tokens, real), after_each_layer(stack, tokens, real)))
        return outputs[-1][1]

    monkeypatch.setattr(depth, "after_each_layer", recorded)
    metrics = deep(option)
    ((whole, (*before, last)),) = outputs
    assert len(before) == 3
    assert (last - whole).abs().max() < 1e-12
    assert 0 < metrics["deletion"] < 1


def test_gradients_are_those_of_the_outputs_of_the_layers(deep, monkeypatch):
    from experiments.shared.probe import depth

    slopes, gradients = [], depth.gradients

    def compared(stack, tokens, real, direction):
        def total(shifted):
            return (depth.after_each_layer(stack, shifted, real)[-1] * direction).sum()

        metrics = gradients(stack, tokens, real, direction)
        step = 1e-6 * tokens.grad / tokens.grad.norm()
        slopes.append(float(total(tokens + step) - total(tokens - step)) / 2e-6)
        return metrics

    monkeypatch.setattr(depth, "gradients", compared)
    metrics = deep()
    assert metrics["input_gradient"] == pytest.approx(math.log10(slopes[0]), abs=1e-4)


def test_attention_is_linear_for_frozen_weights_alone(measure):
    def errors(*overrides):
        off = ("model/feed_forward=none", "model/norm=none", "model/residual=pre_ln")
        return measure("additivity", *SMALL, *off, *overrides, draws=2, length=4)

    metrics = errors()
    assert metrics["frozen"] < 1e-9
    assert min(metrics["computed"], metrics["behind_relu"]) > 0.01
    assert errors("model/norm=layer_norm")["frozen"] > 0.01
    assert errors("model/feed_forward=relu")["frozen"] > 0.01
