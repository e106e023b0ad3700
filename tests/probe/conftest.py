"""Probes from overrides, on a small model of the base levels."""

import math

import pytest


@pytest.fixture
def measure(compose):
    """Run a probe as the command line would; keys are the probe's own arguments."""
    from ablate.config.check import check
    from ablate.config.construct import construct
    from ablate.initial import initialise
    from ablate.model import build

    small = ("model.d_model=16", "model.d_ff=24", "model.n_heads=2", "model.n_layers=2")

    def measured(probe, *overrides, **keys):
        given = [f"probe.{key}={value}" for key, value in keys.items()]
        config = compose(f"probe={probe}", "logger=none", *small, *overrides, *given)
        check(config)
        measure = construct(config.probe)
        model = build(config.model, src_vocab=30, tgt_vocab=30, joint_vocab=True)
        initialise(model, 1)
        metrics = measure(model)
        assert all(isinstance(value, float) for value in metrics.values())
        assert metrics.keys() <= set(measure.measures)  # by which claims are checked
        return metrics

    return measured


@pytest.fixture
def finite():
    """Whether all values are."""
    return lambda metrics: all(map(math.isfinite, metrics.values()))
