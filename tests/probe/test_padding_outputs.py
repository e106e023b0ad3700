"""Which padding masks a model notices, and where NaN comes from."""

import math

import pytest

FILLS = ("minus_inf", "large_negative", "zero_output")


@pytest.fixture
def probed(measure):
    def run_probe(level, fill=None, **keys):
        explicit = ("model/attention=explicit", f"model.attention.fill={fill}") if fill else ()
        keys = {"draws": 1, **keys}
        return measure("padding_outputs", f"model/padding={level}", *explicit, **keys)

    return run_probe


@pytest.mark.parametrize("fill", [None, *FILLS])
def test_masked_columns_hide_padding_whatever_the_fill(probed, fill):
    metrics = probed("columns", fill)
    assert metrics["encoder_difference"] < 1e-12
    assert metrics["decoder_difference"] < 1e-12
    assert metrics["nan_share"] == metrics["nan_share_real"] == 0
    assert metrics["control"] > 1e-3


@pytest.mark.parametrize("fill", [None, "zero_output"])
def test_rows_as_well_as_columns_hide_it_too(probed, fill):
    metrics = probed("rows_and_columns", fill)
    assert max(metrics["encoder_difference"], metrics["decoder_difference"]) < 1e-12
    assert metrics["nan_share"] == 0


@pytest.mark.parametrize("fill", [None, "zero_output"])
@pytest.mark.parametrize("level", ["rows", "none"])
def test_without_masked_columns_padding_is_seen(probed, level, fill, finite):
    metrics = probed(level, fill)
    assert metrics["encoder_difference"] > 1e-3
    assert metrics["decoder_difference"] > 1e-3
    assert finite(metrics)


@pytest.mark.parametrize("level", ["rows", "rows_and_columns"])
def test_minus_infinity_in_empty_rows_is_nan_that_spreads(probed, level):
    # 0 * NaN: layer 2 mixes the values of padding into every position, also at weight 0
    metrics = probed(level, "minus_inf")
    assert metrics["nan_share"] == metrics["nan_share_real"] == 1
    assert math.isnan(metrics["encoder_difference"]) and math.isnan(metrics["decoder_difference"])
    assert metrics["control"] > 1e-3  # the sentences alone are sound
