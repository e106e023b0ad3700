"""Draw learning curves, and a metric against the levels of a factor, in the style of all figures.

Arms differ in colour (ablate.report.marks) and in line style, so that figures can be printed in
grey. Text in a figure stays text in the SVG file.
"""

import io
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from statistics import fmean, median
from textwrap import wrap
from typing import Any

import matplotlib.style
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter
from pandas import DataFrame, Series

from ablate.config.labels import factor_label
from ablate.evidence.types import Curve
from ablate.metric import metric_of
from ablate.report.marks import ARM_COLOURS

CLIP_PATH = re.compile(r'(?<=<clipPath id=")\w+(?=")')
WIDTH = 6.5  # width of a figure in inches
LINE = 0.142  # height of a text line in inches
LABEL = 70  # largest number of letters in a line of the label of an x-axis
GRID = "#bbbbbb"
LINES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
STYLE: dict[Any, Any] = {
    "font.sans-serif": ["DejaVu Sans"],
    "text.parse_math": False,  # names of arms and metrics are no formulas
    "font.size": 9,
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 8.5),
    "legend.frameon": False,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    "axes.prop_cycle": cycler(
        color=ARM_COLOURS * 6,
        linestyle=[LINES[(line + line // 6) % 6] for line in range(36)],  # no pair twice
    ),
    "axes.grid": True,
    "grid.color": GRID,
    "grid.alpha": 0.4,
    "lines.linewidth": 1.6,
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "ablate",
}
METRICS = ("val/nll", "val/bleu")
NAME = 24  # largest number of letters in a line of a legend
ASIDE = 0.16  # width of the space for the marks of all lines; the distance of two levels is 1
TICK = 14  # largest number of letters in a line of a tick label
ROOM = 80  # number of letters that fit side by side below the axis

Curves = Mapping[str, Mapping[int, Curve]]  # by arm and seed
# for each line and level, the values of all seeds
Points = dict[str, dict[float | str, list[float]]]


def style() -> AbstractContextManager[None]:
    """Return a context manager that applies the style of ablate's figures, whatever the user's
    matplotlib settings are.
    """
    return matplotlib.style.context(STYLE, after_reset=True)


def log_y(axes: Axes) -> None:
    """Use a logarithmic y-axis whose labels are plain numbers instead of powers of ten."""
    axes.set_yscale("log")
    axes.yaxis.set(major_formatter=LogFormatter(), minor_formatter=LogFormatter())


def add_legend(axes: Axes) -> None:
    """Name the lines of a panel to the right of it, if there are several."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        labels = [folded(name, NAME) for name in names]
        axes.legend(handles, labels, loc="center left", bbox_to_anchor=(1, 0.5))


def _height(names: Iterable[str]) -> float:
    """Return the height in inches of a figure with a line for each name in its legend."""
    lines = sum(folded(name, NAME).count("\n") + 1 for name in names)
    return max(2.6, 0.6 + 0.18 * lines)


def folded(label: str, width: int = 30) -> str:
    """Return a label with each of its lines wrapped to `width` letters.

    Words are cut only if a word is longer than 1.5 lines.
    """
    cut = any(len(word) > 1.5 * width for word in label.split())
    lines = (wrap(line, width, break_long_words=cut) for line in label.splitlines())
    return "\n".join(map("\n".join, lines))


def svg(figure: Figure) -> str:
    """Return a figure as an SVG file that is always the same for the same data: no date, no random
    ids.
    """
    file = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with style():
        figure.savefig(file, format="svg", metadata=nothing)
    text = file.getvalue()
    # clip paths are named by a hash of sizes whose last digits differ from run to run
    for number, name in enumerate(dict.fromkeys(CLIP_PATH.findall(text))):
        text = text.replace(name, f"clip{number}")
    return text


def draw_curves(curves: Curves) -> Figure:
    """Draw a panel for each metric, side by side. A line is the mean over the seeds of an arm, with
    a band from minimum to maximum.
    """
    keys = {key for seeds in curves.values() for curve in seeds.values() for key in curve}
    metrics = [metric for metric in METRICS if metric in keys]
    figure = Figure(figsize=(WIDTH, _height(curves)), layout="constrained")
    (panels,) = figure.subplots(1, len(metrics), squeeze=False)
    for axes, metric in zip(panels, metrics, strict=True):
        for arm, by_seed in curves.items():
            seeds = curve_table(by_seed, metric)
            (line,) = axes.plot(seeds.index, seeds.mean(axis=1), label=arm)
            low, high, colour = seeds.min(axis=1), seeds.max(axis=1), line.get_color()
            axes.fill_between(seeds.index, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.set(xlabel="optimiser steps", ylabel=metric_of(metric).axis.replace(" (", "\n("))
        least, most = axes.dataLim.intervaly
        if metric.endswith("nll") and 0 < least < most / 50:  # else most curves would look flat
            log_y(axes)
    add_legend(panels[-1])
    return figure


def curve_table(curves: Mapping[int, Curve], metric: str) -> DataFrame:
    """Return the values of a metric by step (rows) and seed (columns); NaN if a run stopped early,
    or had a value that was not finite.
    """
    by_seed = {
        seed: Series(curve[metric], curve["step"], dtype=float)
        for seed, curve in curves.items()
        if metric in curve
    }
    return DataFrame(by_seed).dropna(how="all").sort_index()


def draw_levels(label: str, factor: str, points: Points, *, log: bool = False) -> Figure:
    """Draw a mark for every run, and for each line the means over seeds. Levels that are all
    numbers are in ascending order.

    Args:
        label: label of the metric, for the y-axis.
        factor: config key of the factor on the x-axis.
        points: values to draw, by line and level.
        log: whether the y-axis is logarithmic, and lines join medians instead of means.
    """
    figure = Figure(figsize=(WIDTH, _height(points)), layout="constrained")
    axes = figure.subplots()
    levels = [*dict.fromkeys(level for line in points.values() for level in line)]
    if not any(isinstance(level, str) for level in levels):
        levels.sort(key=float)
    for number, (name, line) in enumerate(points.items()):
        aside = ASIDE * ((number + 0.5) / len(points) - 0.5)
        places = {x + aside: line[level] for x, level in enumerate(levels) if level in line}
        means = [(median if log else fmean)(values) for values in places.values()]
        (drawn,) = axes.plot([*places], means, label=name)
        for x, values in places.items():
            axes.plot([x] * len(values), values, "o", color=drawn.get_color(), alpha=0.45, ms=4)
    if log:
        log_y(axes)
    add_legend(axes)
    width = min(TICK, ROOM // len(levels))
    axes.set_xticks(range(len(levels)), [folded(str(level), width) for level in levels])
    ends = (-0.5, len(levels) - 0.5)
    axes.set(xlim=ends, xlabel=factor_label(factor), ylabel=folded(label))
    return figure
