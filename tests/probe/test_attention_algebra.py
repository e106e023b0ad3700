"""The probe of attention's algebra: what it finds, and that it sees modules that are wrong."""

import pytest

SMALL = dict(draws=2, length=4)
ROUNDING = (
    *("matrix_error", "cross_error", "average_error", "row_error", "other_rows", "columns_error"),
    *("layer_error", "mean_spread", "heads_error"),
)
CONTROLS = (
    *("matrix_control", "average_control", "dropout_row_error", "row_control", "left_error"),
    *("layer_control", "softmax_spread", "view_error", "free_width_changes", "divisible_reversed"),
)


@pytest.fixture
def probed(measure, monkeypatch):
    from experiments.shared.probe import divided_heads

    monkeypatch.setattr(divided_heads, "SIZES", range(1, 5))
    return lambda *overrides: measure("attention_algebra", "model.n_layers=1", *overrides, **SMALL)


@pytest.mark.parametrize("kernel", ["fused"])
def test_modules_are_their_formulas(probed, kernel):
    metrics = probed(f"model/attention={kernel}")
    assert max(metrics[name] for name in ROUNDING) < 1e-12
    assert 1e-9 < metrics["float32_error"] < 1e-5
    assert min(metrics[name] for name in CONTROLS) > 1e-3
    for name in ("not_square", "unequal_accepted", "shape_changes", "divisible_wrong"):
        assert metrics[name] == 0, name
    assert min(metrics["block_excess"], metrics["bias_moves"], metrics["causal_mean_spread"]) > 0.01
    assert metrics["left_refused"] == metrics["cross_not_square"] == metrics["float16_zeros"] == 1
    assert metrics["undivided"] == 1


@pytest.mark.parametrize(("n_maps", "index"), [(1, 0), (2, 1)])
def test_queries_keys_and_values_of_other_words_are_seen(probed, monkeypatch, n_maps, index):
    from ablate.model.attention.multi_head import MultiHeadAttention

    plain = MultiHeadAttention.project

    def project(self, x, *maps):
        heads = list(plain(self, x, *maps))
        if len(heads) == n_maps:  # queries alone, or keys and values
            heads[index] = heads[index].roll(1, 2)
        return tuple(heads)

    monkeypatch.setattr(MultiHeadAttention, "project", project)
    metrics = probed()
    assert metrics["layer_error"] > 0.01
    assert (metrics["columns_error"] > 0.01) == (n_maps == 1)
