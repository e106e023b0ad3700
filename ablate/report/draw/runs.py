"""Every run of every arm on one metric, as a dot."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.metric.table import metric_of
from ablate.report.draw.style import INK, folded, looks, stack
from ablate.report.marks import panels

ROW = 0.46  # inches of one arm, or more where its name takes more lines
LINE, BETWEEN = 0.142, 0.03  # inches of a line of a name, and between two names
AROUND = 0.6
SPREAD = 0.3  # the dots of an arm lie so far above and below it, by seed
WRONG = {"diverged": "x", "collapsed": "+"}

Point = tuple[int, float, str]  # seed, value, status


def draw_runs(
    metric: str,
    points: dict[str, list[Point]],
    means: dict[str, float],
) -> Figure:
    """One row per arm, with its mean."""
    groups = panels(list(points))
    figure, axes = stack([AROUND + _height(group) * len(group) for group in groups])
    for panel, arms in zip(axes, groups, strict=True):
        if panel is not axes[0]:
            panel.sharex(axes[0])
        _draw_panel(panel, arms, points, means)
        panel.set_xlabel(metric_of(metric).axis)
    return figure


def _height(arms: Sequence[str]) -> float:
    """Inches of each row of a panel."""
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
        for marker, own in _by_marker(points[arm], look.marker).items():
            heights = [places[seed] - row for seed, *_ in own]
            axes.plot([x for _, x, _ in own], heights, marker, color=look.colour, alpha=0.9)
        mean = means.get(arm)
        if mean is not None and len(points[arm]) > 1:
            axes.plot([mean, mean], [-row - 0.4, -row + 0.4], color=INK, linewidth=1.4)
    axes.set_yticks([-row for row in range(len(arms))], [folded(arm) for arm in arms])
    axes.set_ylim(-len(arms) + 0.45, 0.55)
    axes.set_ylabel("arm")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _by_marker(points: list[Point], usual: str) -> dict[str, list[Point]]:
    """The points that are drawn alike, which the file holds together."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(WRONG.get(point[2], usual), []).append(point)
    return found
