"""Draw the value of a metric for every run of every arm, as a dot."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.report.draw.style import INK, folded, looks, name_rows, stack
from ablate.report.marks import panels

ROW = 0.46  # smallest height of a row in inches
LINE, BETWEEN = 0.142, 0.03  # inches: height of a text line, and space between two names
AROUND = 0.6
LABEL = 70  # largest number of letters in a line of the axis label
SPREAD = 0.3  # vertical range of the dots above and below the line of their arm, by seed
WRONG = {"diverged": "x", "collapsed": "+"}  # markers of runs that did not finish

Point = tuple[int, float, str]  # seed, value, status


def draw_runs(
    label: str,
    points: dict[str, list[Point]],
    means: dict[str, float],
) -> Figure:
    """Draw a row of dots for each arm, with the arm's mean as a line.

    Args:
        label: label of the metric, for the axis.
        points: seed, value and status of every run, by arm.
        means: the mean of each arm.
    """
    groups = panels(list(points))
    figure, axes = stack([AROUND + _height(group) * len(group) for group in groups])
    for panel, arms in zip(axes, groups, strict=True):
        if panel is not axes[0]:
            panel.sharex(axes[0])
        _draw_panel(panel, arms, points, means)
        panel.set_xlabel(folded(label, LABEL))
    return figure


def _height(arms: Sequence[str]) -> float:
    """Return the height, in inches, of each row of a panel with these arms."""
    return max(ROW, BETWEEN + LINE * max(folded(arm).count("\n") + 1 for arm in arms))


def _draw_panel(
    axes: Axes,
    arms: list[str],
    points: dict[str, list[Point]],
    means: dict[str, float],
) -> None:
    seeds = sorted({seed for arm in points.values() for seed, _, _ in arm})
    places = dict(zip(seeds, np.linspace(SPREAD, -SPREAD, len(seeds)), strict=True))
    if len(seeds) == 1:
        places = {seeds[0]: 0.0}
    for row, (arm, look) in enumerate(looks(arms).items()):
        for marker, marked in _by_marker(points[arm], look.marker).items():
            heights = [places[seed] - row for seed, *_ in marked]
            axes.plot([x for _, x, _ in marked], heights, marker, color=look.colour, alpha=0.9)
        mean = means.get(arm)
        if mean is not None and len(points[arm]) > 1:
            axes.plot([mean, mean], [-row - 0.4, -row + 0.4], color=INK, linewidth=1.4)
    name_rows(axes, [folded(arm) for arm in arms], "arm")


def _by_marker(points: list[Point], usual: str) -> dict[str, list[Point]]:
    """Return the points of an arm by their marker, which shows the status of a run.

    `usual` is the marker of a run that finished.
    """
    by_marker: dict[str, list[Point]] = {}
    for point in points:
        by_marker.setdefault(WRONG.get(point[2], usual), []).append(point)
    return by_marker
