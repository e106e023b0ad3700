"""The probes of what depth does before training, and of linearity."""

import math

import pytest

SMALL = ("model.n_layers=3", "model.n_decoder_layers=1")


@pytest.fixture
def deep(measure):
    return lambda *overrides: measure("depth", *SMALL, *overrides, draws=2, length=6)


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
