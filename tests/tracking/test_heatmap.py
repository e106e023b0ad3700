"""Heat maps."""

import numpy as np
import pytest

from ablate.observe.heatmap import Axis, Scale, heatmaps

SCALE = Scale("share", 0.0, 1.0, "viridis")


def draw(values, x, y, panels=1):
    named = {f"panel {i}": values for i in range(panels)}
    return heatmaps("title", named, x, y, SCALE)


def test_a_cell_has_the_colour_of_its_value():
    x, y = Axis("x", {}, 10), Axis("y", {}, 20)
    pixels = np.asarray(draw(np.array([[0.0, 1.0]]), x, y))
    low, high = (68, 1, 84), (253, 231, 36)  # the ends of viridis
    assert (pixels == low).all(2).sum() >= 10 * 20
    assert (pixels == high).all(2).sum() >= 10 * 20


def test_panels_stand_side_by_side():
    x, y = Axis("x", {}, 10), Axis("y", {}, 10)
    single, three = (draw(np.zeros((4, 5)), x, y, panels) for panels in (1, 3))
    assert three.height == single.height
    assert three.width - single.width == pytest.approx(2 * (5 * 10), abs=40)


def test_labels_that_do_not_fit_beside_each_other_are_turned():
    long, short = {0: "a long token", 1: "another one"}, {0: "0", 1: "1"}
    assert Axis("x", long, 20).crowded
    assert not Axis("x", short, 20).crowded
    assert not Axis("x", {0: "a long token"}, 200).crowded
    values, y = np.zeros((2, 2)), Axis("y", {}, 20)
    turned, level = (draw(values, Axis("x", labels, 20), y) for labels in (long, short))
    assert turned.height > level.height


def test_a_value_that_is_not_a_number_does_not_end_the_run():
    assert draw(np.array([[np.nan, 0.5]]), Axis("x", {}, 10), Axis("y", {}, 10)).width > 0
