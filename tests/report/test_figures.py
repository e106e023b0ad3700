"""Figures: named axes, readable letters, nothing on top of each other, right numbers."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from ablate.evidence.folder import Evidence
from ablate.record.files import finite
from ablate.report.draw import curve_table, draw_effects, draw_levels, line_styles, style
from ablate.report.write import figures
from ablate.verdict.conclude import conclude
from ablate.verdict.stored import read_verdict

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
pytestmark = pytest.mark.xdist_group("report")  # one process makes the evidence of every kind


def drawn(evidence):
    with style():
        return {f.name: f for f in figures(evidence, finite(conclude(evidence)))}


@pytest.fixture(scope="module")
def every_figure(every):
    return drawn(Evidence.load(every))


def all_axes(figure):
    return figure.picture.get_axes()


def test_names_and_sizes(every_figure):
    assert every_figure
    for figure in every_figure.values():
        assert figure.picture.get_size_inches()[0] <= 7
        assert figure.caption.endswith(".")
        assert all(axes.get_xlabel() for axes in all_axes(figure))
        written = [t for t in figure.picture.findobj(Text) if t.get_text()]
        assert min(t.get_fontsize() for t in written) >= 8
        assert not any("$" in t.get_text() for t in written)


def assert_no_labels_overlap(picture):
    with style():
        FigureCanvasAgg(picture).draw()
    for axes in picture.get_axes():
        for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
            boxes = [t.get_window_extent() for t in labels if t.get_text() and t.get_visible()]
            assert not any(box.overlaps(b) for i, box in enumerate(boxes) for b in boxes[:i])


def test_labels_of_an_axis_do_not_overlap(every_figure):
    for figure in every_figure.values():
        assert_no_labels_overlap(figure.picture)


def test_which_figures_a_study_has(evidence):
    assert list(drawn(evidence())) == ["effects", "curves", "runs-test-bleu"]
    assert list(drawn(evidence("exact"))) == ["runs-probe-block_excess"]
    assert "trend-1" in drawn(evidence("trend"))


def test_effects_show_interval_margin_and_every_seed(evidence):
    made = evidence()
    claim = conclude(made)["claims"][0]
    (axes,) = all_axes(drawn(made)["effects"])
    drawn_values = {x for line in axes.get_lines() for x in line.get_xdata()}
    assert {*claim["interval"], *claim["differences"], claim["effect"], 1.0} <= drawn_values
    assert claim["verdict"] in [text.get_text() for text in axes.texts]


def test_the_gains_of_a_screen_are_those_of_its_arms_the_largest_first():
    """Claims that a variant is better and claims that it is worse have the same sign."""
    folder = EXPERIMENTS / "modern_second_corpus"
    verdict = read_verdict(folder / "verdict.json")
    (gains,) = (f for f in figures(Evidence.load(folder), verdict) if f.name == "gains")
    shown = {}
    for axes in all_axes(gains):
        effects = [line.get_xdata()[0] for line in axes.get_lines() if line.get_ms() == 6.5]
        assert effects == sorted(effects, reverse=True)
        names = (label.get_text() for label in axes.get_yticklabels())
        shown |= dict(zip(names, effects, strict=True))
    loss = {arm["label"]: arm["metrics"]["test/bpb"]["mean"] for arm in verdict["arms"]}
    baseline = loss.pop("the baseline")
    assert {claim["better"] for claim in verdict["claims"]} == {"higher", "lower"}
    assert shown == pytest.approx({arm: baseline - each for arm, each in loss.items()}, abs=0.01)


def test_the_predicted_gain_stands_below_the_reached_gain(evidence):
    made = evidence()
    predicted = {"predicted": {"gain": 2.0, "error": 0.5, "df": 9.0}}
    claim = {**made.study["claims"][0], **conclude(made)["claims"][0], **predicted}
    with style():
        (axes,) = draw_effects([claim]).get_axes()
    assert [label.get_text() for label in axes.get_yticklabels()][1] == "predicted"
    assert any(np.array_equal(line.get_xdata(), [2.0]) for line in axes.get_lines())


def test_exact_claims_show_every_case_within_the_tolerance(evidence):
    axes = all_axes(drawn(evidence("equivalence"))["effects"])[-1]
    points = [line.get_xdata() for line in axes.get_lines()]
    for expected in ([256.0], [-300.0] * 2, [300.0] * 2):
        assert any(np.array_equal(x, expected) for x in points)
    assert axes.get_xlabel() == "difference in parameters (count); dashed: tolerance 300"


def test_every_run_is_a_dot(evidence):
    made = evidence("stability")
    (axes,) = all_axes(drawn(made)["runs-test-bleu"])
    lines = [line for line in axes.get_lines() if line.get_marker() in ("o", "x")]
    dots = [(line.get_marker(), x) for line in lines for x in line.get_xdata()]
    assert len(dots) == 9  # of ten runs one failed
    assert [x for marker, x in dots if marker == "x"] == [0.0, 0.0]


def test_curves_take_runs_that_end_early():
    curves = [
        {"step": [1, 2, 3], "val/nll": [3.0, 2.0, 1.0]},
        {"step": [1, 2], "val/nll": [5.0, None]},
        {"step": [2], "val/bleu": [9.0]},
    ]
    values = curve_table(dict(enumerate(curves)), "val/nll")
    assert values.index.tolist() == [1, 2, 3]
    np.testing.assert_equal(values.to_numpy().T, [[3, 2, 1], [5, np.nan, np.nan]])


@pytest.mark.parametrize(
    ("levels", "ticks"),
    [
        ((24, 8, 16), ["8", "16", "24"]),
        (("relu", "gelu"), ["relu", "gelu"]),
    ],
)
def test_numbers_stand_by_size_and_names_as_the_study_has_them(levels, ticks):
    points = {"one": {level: [float(level in (16, "gelu"))] for level in levels}}
    with style():
        styles = line_styles([{"levels": {}}], {"one": {}})
        (axes,) = draw_levels("test/bleu", "n", points, styles).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ticks
    heights = [*axes.get_lines()[0].get_ydata()]
    assert heights == [float(tick in ("16", "gelu")) for tick in ticks]


@pytest.mark.parametrize("sizes", [(2, 2), (1, 3), (3, 2), (3, 3), (5, 3), (9, 2), (36, 1)])
def test_an_option_has_one_colour_in_all_figures_and_no_two_lines_are_alike(sizes):
    first, second = ([f"{name}{i}" for i in range(n)] for name, n in zip("ab", sizes, strict=True))
    runs = [{"levels": {"a": x, "b": y}} for x in first for y in second]
    whole = line_styles(runs, {"".join(run["levels"].values()): run["levels"] for run in runs})
    over_b = line_styles(runs, {x: {"a": x} for x in first})
    over_a = line_styles(runs, {y: {"b": y} for y in second})
    for drawn in (whole, over_b, over_a):
        assert len({(x["color"], x["linestyle"]) for x in drawn.values()}) == len(drawn)
    assert all(each["color"] == over_b[name[:-2]]["color"] for name, each in whole.items())
    assert over_b["a0"]["linestyle"] == whole["a0b0"]["linestyle"]
    if sum(sizes) <= 6:  # there are six colours
        colours = [each["color"] for drawn in (over_b, over_a) for each in drawn.values()]
        assert len({*colours}) == sum(sizes)
