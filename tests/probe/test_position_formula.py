"""What holds of positions, for each component."""

import pytest


@pytest.fixture
def probed(measure):
    def run_probe(level, *overrides, **keys):
        keys = {"max_length": 40, **keys}
        return measure("position_formula", f"model/position={level}", *overrides, **keys)

    return run_probe


@pytest.mark.parametrize("level", ["sinusoidal", "sinusoidal_concat"])
def test_sinusoids_have_no_end(probed, level):
    metrics = probed(level)
    assert metrics["longest_position"] == 8 * 40
    assert metrics["beyond"] == metrics["finite"] == 1
    assert metrics["norm_largest"] == pytest.approx(8**0.5)
    assert metrics["range_excess"] == metrics["table"] == 0
    assert metrics["closest"] > 0.1


def test_a_table_ends(probed, finite):
    metrics = probed("learned", "model.position.max_length=40")
    assert metrics["longest_position"] == 40
    assert metrics["beyond"] == 0
    assert metrics["table"] == 40 * 16
    assert probed("learned", "model.position.max_length=41")["beyond"] == 1
    assert metrics["closest"] > 0.1
    assert finite(metrics)


def test_without_positions_all_are_one(probed):
    metrics = probed("none")
    assert metrics["closest"] == metrics["norm_largest"] == 0
    assert metrics["beyond"] == 1
