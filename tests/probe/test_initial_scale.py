"""The probes of sizes before training."""

import pytest
import torch

SMALL = dict(sentences=4, length=6)


@pytest.fixture
def drawn(monkeypatch):
    """Let the initial values of embeddings have another deviation."""
    from ablate.model.embedding import Table

    def with_deviation(deviation):
        def draw(self, parameter, generator):
            torch.nn.init.normal_(parameter, std=deviation, generator=generator)

        monkeypatch.setattr(Table, "draw_initial_values", draw)

    return with_deviation


def test_embeddings_of_this_project_are_as_large_as_positions(measure):
    metrics = measure("initial_scale", "model/embedding=separate", **SMALL)
    assert metrics["beyond_one"] == 0
    assert metrics["imbalance"] == pytest.approx(0.5, abs=0.15)  # 1 over the root of a half
    assert metrics["unscaled_imbalance"] == pytest.approx(1.5, abs=0.15)  # d_model is 16
    assert metrics["loss_gap"] < 0.3 < metrics["sharpened"]


def test_larger_initial_values_are_seen(measure, drawn):
    drawn(1.0)
    metrics = measure("initial_scale", **SMALL)
    assert metrics["beyond_one"] == pytest.approx(0.32, abs=0.05)
    assert metrics["imbalance"] == pytest.approx(2.5, abs=0.15)
    assert metrics["loss_gap"] > 0.5  # the output is the embedding again


def test_scores_of_unit_vectors_have_unit_deviation(measure):
    metrics = measure("initial_scores", maps="unit", draws=4)
    assert metrics["error"] < 0.1 < metrics["unscaled"]
    assert metrics["own"] == pytest.approx(8**0.5, rel=0.05)


def test_only_maps_by_their_rows_depend_on_the_width(measure):
    def log2(maps, width):
        metrics = measure("initial_scores", f"model.d_head={width}", maps=maps, draws=20)
        return metrics["log2_deviation"], metrics["log2_four_heads"]

    (narrow, few_rows), (wide, many_rows) = log2("xavier", 4), log2("xavier", 16)
    assert wide == pytest.approx(narrow, abs=0.3)
    assert many_rows < few_rows - 0.8
    few_rows, many_rows = log2("linear", 4)[1], log2("linear", 16)[1]
    assert many_rows == pytest.approx(few_rows, abs=0.3)
