"""Heat maps."""

import numpy as np
import pytest

from ablate.observe.pictures import Axis, Scale, heatmaps

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


def test_the_colours_begin_at_the_lowest_value_of_the_scale():
    scale = Scale("difference", -1.0, 1.0, "viridis")
    axis = Axis("x", {}, 20)
    pixels = np.asarray(heatmaps("title", {"panel": np.zeros((2, 2))}, axis, axis, scale))
    middle = (33, 145, 140)  # of viridis
    assert (abs(pixels.astype(int) - middle) <= 1).all(2).sum() >= 4 * 20 * 20


@pytest.mark.parametrize("along", [0, 1])
def test_labels_stand_at_their_cells(along):
    def centre(labels):
        """The mean row or column of black pixels, which are those of text."""
        marked, plain = Axis("", labels, 40), Axis("", {}, 40)
        x, y = (plain, marked) if along == 0 else (marked, plain)
        black = (np.asarray(draw(np.zeros((5, 5)), x, y)) < 60).all(2)
        return black.nonzero()[along].mean()

    assert centre({0: "WWW", 4: "."}) < centre({0: ".", 4: "WWW"}) - 10


def test_panels_stand_side_by_side():
    x, y = Axis("x", {}, 10), Axis("y", {}, 10)
    single, three = (draw(np.zeros((4, 5)), x, y, panels) for panels in (1, 3))
    assert three.height == single.height
    assert three.width - single.width == pytest.approx(2 * (5 * 10), abs=40)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_a_number_does_not_end_the_run(value):
    x, y = Axis("x", {}, 10), Axis("y", {}, 10)
    values = np.array([[value, 0.5]])
    assert draw(values, x, y).width > 0
    heatmaps("title", {"panel": values}, x, y, Scale("share", 0.0, value, "viridis"))
    heatmaps("title", {"panel": values}, x, y, Scale("share", 0.0, 0.0, "viridis"))


def test_labels_are_text_of_any_script():
    labels = {0: "$x$", 1: "例", 2: r"$\frac", 3: "🙂", 4: "a long token"}
    shown = draw(np.zeros((5, 5)), Axis("x", labels, 10, 90), Axis("y", labels, 10))
    assert (np.asarray(shown) < 60).all(2).any()  # black pixels are those of text
