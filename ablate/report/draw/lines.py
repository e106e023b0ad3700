"""Draw a metric against the levels of a factor, a number or a layer.

Every run has a mark, and a line for each arm joins the means or the medians.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import arm_label, factor_label, option_name
from ablate.evidence.types import Levels
from ablate.record.label import value_text
from ablate.report.draw.style import (
    folded,
    legend_height,
    log_y,
    looks,
    name_lines,
    share_legend,
    stack,
)
from ablate.report.marks import ARMS, INK

HEIGHT = 3.0  # height of a figure with one panel in inches
ASIDE = 0.16  # width of the space for the marks of all lines; the distance of two levels is 1
TICK = 14  # largest number of letters in a line of a tick label
ROOM = 90  # number of letters that fit side by side below the axis

Points = dict[str, dict[object, list[float]]]  # for each line and level, the values of all seeds


def draw_levels(
    label: str, factor: str, points: Points, limits: dict[str, float], *, log: bool = False
) -> Figure:
    """Draw lines through the means over seeds, labelled at their ends or, if there are many, in a
    legend.

    Args:
        label: label of the metric, for the y-axis.
        factor: config key of the factor on the x-axis.
        points: values to draw, by line and level.
        limits: y values of horizontal lines by name, such as the score of chance.
        log: whether the y-axis is logarithmic, and lines join medians instead of means.
    """
    many = len(points) > ARMS
    below = legend_height(list(points)) if many or log else 0.0
    figure, (axes,) = stack([HEIGHT + below])
    levels = _ordered(dict.fromkeys(level for line in points.values() for level in line))
    places = dict(zip(levels, _places(axes, levels, factor), strict=True))
    ends = _draw_lines(axes, points, places, median if log else fmean)
    if log:
        log_y(axes)
    if many or log:
        share_legend(figure, [axes], list(points))
    elif len(points) > 1:
        name_lines(axes, ends)
    for name, value in limits.items():
        axes.axhline(value, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.annotate(name, (0.01, value), xycoords=("axes fraction", "data"), va="bottom")
    axes.set_ylabel(folded(label))
    return figure


def _ordered(levels: Iterable[object]) -> list[object]:
    """Return the levels in ascending order if all of them are numbers, else in the given order."""
    in_order = list(levels)
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in in_order)
    return sorted(in_order, key=lambda x: float(str(x))) if numbers else in_order


def _places(axes: Axes, levels: Sequence[object], factor: str) -> list[int]:
    """Place the levels at equal distances on the x-axis, label the axis, and return the
    positions.
    """
    at = list(range(len(levels)))
    width = min(TICK, ROOM // max(1, len(levels)))
    names = [option_name(factor, level) or _text(level) for level in levels]
    axes.set_xticks(at, [_tick(name, width) for name in names])
    axes.set_xlim(-0.5, len(levels) - 0.5)
    axes.set_xlabel(factor_label(factor))
    axes.grid(axis="x", visible=False)
    return at


def _text(level: object) -> str:
    """Return a level of a factor as a label of the axis; texts have no quotes."""
    return level if isinstance(level, str) else value_text(level)


def _tick(level: str, width: int) -> str:
    """Return the label of a level, wrapped to lines of at most `width` letters."""
    return folded(level.replace("_", "_ "), width).replace("_ ", "_")


def _draw_lines(
    axes: Axes,
    points: Points,
    places: dict[object, int],
    centre: Callable[[list[float]], float],
) -> dict[str, float]:
    """Draw a line for each combination of the other factors' levels, and return the last y value of
    each line by the line's name.

    If there is only one combination, and the levels on the x-axis are names, the means of these
    levels are not joined.

    Args:
        axes: the panel.
        points: values to draw, by line and level.
        places: position of each level on the x-axis.
        centre: function of the values of all seeds that gives the value of the line.
    """
    names = len(points) == 1 and all(isinstance(level, str | bool) for level in places)
    alone = {"marker": "_", "markersize": 24, "markeredgewidth": 1.6}
    ends = {}
    for number, (name, look) in enumerate(looks(list(points)).items()):
        aside = _aside(number, len(points), ASIDE)
        values_of = points[name]
        line = {
            place + aside: values_of[level] for level, place in places.items() if level in values_of
        }
        seeds = [(x, value) for x, values in line.items() for value in values]
        axes.plot(*zip(*seeds, strict=True), look.marker, color=look.colour, alpha=0.45, ms=4)
        means = [centre(values) for values in line.values()]
        how = {**alone, "linestyle": ""} if names else {"linestyle": look.line}
        axes.plot([*line], means, color=look.colour, label=name, **how)
        ends[name] = means[-1]
    return ends


def place_of(level: Any) -> object:
    """Return a level in a form that can be a key of a dictionary: a list or a mapping as text, any
    other level unchanged.
    """
    return value_text(level) if isinstance(level, list | dict) else level


def line_of(levels: Levels, factor: str, where: Levels) -> str:
    """Return the name of the line to which a run belongs: the labels of its levels of other
    factors.

    Args:
        levels: the run's level of each factor.
        factor: the factor on the x-axis, which is left out.
        where: levels that all runs in the figure share, which are left out.
    """
    return arm_label({k: v for k, v in levels.items() if k != factor and k not in where})


def _aside(number: int, count: int, width: float) -> float:
    """Return how far the marks of a line are moved aside, so that no line hides another.

    Args:
        number: number of the line, from 0.
        count: number of lines.
        width: width of the space for the marks of all lines.
    """
    return width * ((number + 0.5) / count - 0.5)
