"""Which padding masks a model notices, and where NaN comes from."""

import math

import pytest

from ablate.errors import UserError

FILLS = ("minus_inf", "large_negative", "zero_output")


@pytest.fixture
def probed(measure):
    def found(level, fill=None, **keys):
        explicit = ("model/attention=explicit", f"model.attention.fill={fill}") if fill else ()
        keys = {"draws": 1, **keys}
        return measure("padding_outputs", f"model/padding={level}", *explicit, **keys)

    return found


@pytest.mark.parametrize("fill", [None, *FILLS])
def test_masked_columns_hide_padding_whatever_the_fill(probed, fill):
    found = probed("columns", fill)
    assert found["encoder_difference"] < 1e-12
    assert found["decoder_difference"] < 1e-12
    assert found["nan_share"] == found["nan_share_real"] == 0
    assert found["control"] > 1e-3


@pytest.mark.parametrize("fill", [None, "large_negative", "zero_output"])
def test_rows_as_well_as_columns_hide_it_too(probed, fill):
    found = probed("rows_and_columns", fill)
    assert max(found["encoder_difference"], found["decoder_difference"]) < 1e-12
    assert found["nan_share"] == 0


@pytest.mark.parametrize("fill", [None, "large_negative", "zero_output"])
@pytest.mark.parametrize("level", ["rows", "none"])
def test_without_masked_columns_padding_is_seen(probed, level, fill, finite):
    found = probed(level, fill)
    assert found["encoder_difference"] > 1e-3
    assert found["decoder_difference"] > 1e-3
    assert finite(found)


@pytest.mark.parametrize("level", ["rows", "rows_and_columns"])
def test_minus_infinity_in_empty_rows_is_nan_that_spreads(probed, level):
    # 0 * NaN: layer 2 mixes the values of padding into every position, also at weight 0
    found = probed(level, "minus_inf")
    assert found["nan_share"] == found["nan_share_real"] == 1
    assert math.isnan(found["encoder_difference"]) and math.isnan(found["decoder_difference"])
    assert found["control"] > 1e-3  # the sentences alone are sound


def test_a_sentence_as_long_as_its_batch_has_no_nan(probed):
    found = probed("rows_and_columns", "minus_inf", padding=0)
    assert 0 < found["nan_share_real"] < found["nan_share"] < 1


def test_batch_mates_alone_are_enough(probed):
    assert probed("none", padding=0)["decoder_difference"] > 1e-3


def test_the_same_numbers_again_and_others_for_another_seed(probed):
    first = probed("none", seed=3)
    assert first == probed("none", seed=3) != probed("none", seed=4)


@pytest.mark.parametrize("position", ["sinusoidal_concat", "learned", "none"])
def test_other_variants(measure, position):
    found = measure("padding_outputs", f"model/position={position}", draws=1)
    assert found["decoder_difference"] < 1e-12


@pytest.mark.parametrize("keys", [dict(draws=0), dict(padding=-1)])
def test_bad_arguments(measure, keys):
    with pytest.raises(UserError, match=rf"probe\.{next(iter(keys))}="):
        measure("padding_outputs", **keys)


def test_a_table_of_positions_that_is_too_short(measure):
    with pytest.raises(UserError, match="does not fit model.position.max_length=8"):
        measure("padding_outputs", "model/position=learned", "model.position.max_length=8")
