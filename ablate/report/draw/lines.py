"""Draw the values of runs: learning curves, a metric against the levels of a factor, and the metric
of every run.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import factor_label, option_name
from ablate.evidence.types import Curve
from ablate.metric.table import metric_of
from ablate.record.label import value_text
from ablate.report.draw.style import LABEL, LINE, WIDTH, add_legend, folded, log_y, name_rows
from ablate.report.marks import ARM_COLOURS, INK

if TYPE_CHECKING:
    from pandas import DataFrame

METRICS = ("val/nll", "val/bleu")
PANEL = len(ARM_COLOURS)  # largest number of learning curves in a panel
ASIDE = 0.16  # width of the space for the marks of all lines; the distance of two levels is 1
TICK = 14  # largest number of letters in a line of a tick label
ROOM = 80  # number of letters that fit side by side below the axis
SPREAD = 0.6  # height of the dots of an arm, by seed; the distance of two arms is 1
WRONG = {"diverged": "x", "collapsed": "+"}  # markers of runs that did not finish

Curves = Mapping[str, Mapping[int, Curve]]  # by arm and seed
Points = dict[str, dict[object, list[float]]]  # for each line and level, the values of all seeds
Dot = tuple[int, float, str]  # seed, value and status of a run


def draw_curves(curves: Curves) -> Figure:
    """Draw a panel for each metric, side by side; if there are many arms, in several rows of
    panels. A line is the mean over the seeds of an arm, with a band from minimum to maximum.
    """
    keys = {key for seeds in curves.values() for curve in seeds.values() for key in curve}
    metrics = [metric for metric in METRICS if metric in keys]
    groups = [[*curves][start : start + PANEL] for start in range(0, len(curves), PANEL)]
    figure = Figure(figsize=(WIDTH, 2.2 * len(groups)), layout="constrained")
    panels = figure.subplots(len(groups), len(metrics), squeeze=False)
    for row, arms in zip(panels, groups, strict=True):
        for axes, metric in zip(row, metrics, strict=True):
            _draw_curves(axes, metric, {arm: curves[arm] for arm in arms})
        add_legend(row[-1])
    return figure


def _draw_curves(axes: Axes, metric: str, curves: Curves) -> None:
    for arm, by_seed in curves.items():
        seeds = curve_table(by_seed, metric)
        (line,) = axes.plot(seeds.index, seeds.mean(axis=1), label=arm)
        low, high = seeds.min(axis=1), seeds.max(axis=1)
        axes.fill_between(seeds.index, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
    axes.set_xlabel("optimiser steps")
    axes.set_ylabel(metric_of(metric).axis.replace(" (", "\n("))
    least, most = axes.dataLim.intervaly
    if metric.endswith("nll") and 0 < least < most / 50:  # else most curves would look flat
        log_y(axes)


def curve_table(curves: Mapping[int, Curve], metric: str) -> "DataFrame":
    """Return the values of a metric by step (rows) and seed (columns); NaN if a run stopped early,
    or had a value that was not finite.
    """
    from pandas import DataFrame, Series  # takes half a second

    by_seed = {
        seed: Series(curve[metric], curve["step"], dtype=float)
        for seed, curve in curves.items()
        if metric in curve
    }
    return DataFrame(by_seed).dropna(how="all").sort_index()


def draw_levels(
    label: str, factor: str, points: Points, limits: Mapping[str, float], *, log: bool = False
) -> Figure:
    """Draw a mark for every run, and for each line the means over seeds.

    Args:
        label: label of the metric, for the y-axis.
        factor: config key of the factor on the x-axis.
        points: values to draw, by line and level.
        limits: y values of horizontal lines by name, such as the score of chance.
        log: whether the y-axis is logarithmic, and lines join medians instead of means.
    """
    figure = Figure(figsize=(WIDTH, max(3.0, 0.2 * len(points))), layout="constrained")
    axes = figure.subplots()
    levels = _ordered(dict.fromkeys(level for line in points.values() for level in line))
    # the means of a single line over named levels are not joined
    named = len(points) == 1 and all(isinstance(level, str | bool) for level in levels)
    alone: Any = {"linestyle": "", "marker": "_", "markersize": 24} if named else {}
    for number, (name, line) in enumerate(points.items()):
        aside = ASIDE * ((number + 0.5) / len(points) - 0.5)
        places = {x + aside: line[level] for x, level in enumerate(levels) if level in line}
        means = [(median if log else fmean)(values) for values in places.values()]
        (drawn,) = axes.plot([*places], means, label=name, **alone)
        for x, values in places.items():
            axes.plot([x] * len(values), values, "o", color=drawn.get_color(), alpha=0.45, ms=4)
    for name, value in limits.items():
        axes.axhline(value, color=INK, linestyle="--", linewidth=0.8)
        axes.annotate(name, (0.01, value), xycoords=("axes fraction", "data"), va="bottom")
    if log:
        log_y(axes)
    add_legend(axes)
    axes.set_xticks(range(len(levels)), _ticks(factor, levels))
    axes.set_xlim(-0.5, len(levels) - 0.5)
    axes.set_xlabel(factor_label(factor))
    axes.set_ylabel(folded(label))
    return figure


def _ordered(levels: Iterable[object]) -> list[object]:
    """Return the levels in ascending order if all of them are numbers, else in the given order."""
    in_order = list(levels)
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in in_order)
    return sorted(in_order, key=lambda x: float(str(x))) if numbers else in_order


def _ticks(factor: str, levels: Sequence[object]) -> list[str]:
    """Return the labels of the levels, wrapped so that they fit side by side."""
    names = [x if isinstance(x, str) else value_text(x) for x in levels]
    names = [option_name(factor, x) or name for x, name in zip(levels, names, strict=True)]
    width = min(TICK, ROOM // max(1, len(levels)))
    return [folded(name.replace("_", "_ "), width).replace("_ ", "_") for name in names]


def draw_runs(label: str, points: Mapping[str, Sequence[Dot]]) -> Figure:
    """Draw a row of dots for each arm, with the arm's mean as a line.

    Args:
        label: label of the metric, for the axis.
        points: the runs of every arm.
    """
    names = [folded(arm) for arm in points]
    lines = max((name.count("\n") + 1 for name in names), default=1)
    height = 0.75 + max(0.34, LINE * lines + 0.06) * len(names)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    seeds = sorted({seed for runs in points.values() for seed, _, _ in runs})
    for row, runs in enumerate(points.values()):
        for seed, value, status in runs:
            y = SPREAD * (0.5 - (seeds.index(seed) + 0.5) / len(seeds)) - row
            axes.plot([value], [y], WRONG.get(status, "o"), color=ARM_COLOURS[0], markersize=4)
        if len(runs) > 1:
            mean = fmean(value for _, value, _ in runs)
            axes.plot([mean] * 2, [-row - 0.4, -row + 0.4], "-", color=INK)
    name_rows(axes, names)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(folded(label, LABEL))
    return figure
