"""What holds of positions, for each component."""

import pytest

from ablate.errors import UserError


@pytest.fixture
def probed(measure):
    def found(level, *overrides, **keys):
        keys = {"max_length": 40, **keys}
        return measure("position_formula", f"model/position={level}", *overrides, **keys)

    return found


@pytest.mark.parametrize("level", ["sinusoidal", "sinusoidal_concat"])
def test_sinusoids_have_no_end(probed, level):
    found = probed(level)
    assert found["longest_position"] == 8 * 40
    assert found["beyond"] == found["finite"] == 1
    assert found["norm_largest"] == pytest.approx(8**0.5)
    assert found["range_excess"] == found["table"] == 0
    assert found["closest"] > 0.1


def test_a_table_ends(probed, finite):
    found = probed("learned", "model.position.max_length=40")
    assert found["longest_position"] == 40
    assert found["beyond"] == 0
    assert found["table"] == 40 * 16
    assert probed("learned", "model.position.max_length=41")["beyond"] == 1
    assert found["closest"] > 0.1
    assert finite(found)


def test_a_table_that_is_shorter_than_training(probed):
    found = probed("learned", "model.position.max_length=5")
    assert found["longest_position"] == 5
    assert found["beyond"] == 0


def test_without_positions_all_are_one(probed):
    found = probed("none")
    assert found["closest"] == found["norm_largest"] == 0
    assert found["beyond"] == 1


@pytest.mark.parametrize("keys", [dict(max_length=0), dict(farthest=1)])
def test_bad_arguments(probed, keys):
    with pytest.raises(UserError, match=r"probe\.\w+=\d: it must be at least"):
        probed("sinusoidal", **keys)
