"""What every run measures beside its scores, and what changes with the way it is tested."""

import math

import pytest

from ablate.train.resolve import resolve
from ablate.train.run import run


def test_a_run_measures_gradients_sublayers_and_calibration(small, compose):
    metrics = run(resolve(compose(*small)))["metrics"]
    layers = ("encoder.0", "decoder.0", "encoder_ratio", "decoder_ratio")
    expected = {f"gradient/{when}/{layer}" for when in ("first", "last") for layer in layers}
    expected |= {"test/calibration_error", "test/accuracy", "test/length_ratio", "test/unended"}
    expected |= {"test/word_f1", "residual/added_most", "residual/added_least", "residual/drift"}
    assert expected <= metrics.keys()
    assert all(math.isfinite(metrics[name]) for name in expected)
    assert 0 < metrics["test/calibration_error"] < 1
    assert "val/calibration_error" not in metrics
    assert metrics["gradient/first/encoder.0"] != metrics["gradient/last/encoder.0"]

    padded = run(resolve(compose(*small, "batch.test_padding=9", "batch.test_bucket=false")))
    same = ("val/nll", "gradient/first/encoder.0", "residual/drift")
    # it was not trained again
    assert all(padded["metrics"][name] == metrics[name] for name in same)
    for name in ("test/nll", "test/bleu", "test/calibration_error"):
        assert padded["metrics"][name] == pytest.approx(metrics[name], rel=1e-4)  # columns masked
