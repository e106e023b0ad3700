"""The probes of sizes before training."""

import pytest

SMALL = dict(sentences=4, length=6)


def test_embeddings_of_this_project_are_as_large_as_positions(measure):
    metrics = measure("initial_scale", "model/embedding=separate", **SMALL)
    assert metrics["beyond_one"] == 0
    assert metrics["imbalance"] == pytest.approx(0.5, abs=0.15)  # 1 over the root of a half
    assert metrics["unscaled_imbalance"] == pytest.approx(1.5, abs=0.15)  # d_model is 16
    assert metrics["loss_gap"] < 0.3 < metrics["sharpened"]
