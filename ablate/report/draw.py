"""Draw the figures of a report: learning curves, a metric against the levels of a factor, and
forest plots, with a row for each estimate.

Arms differ in colour and in line style, so that figures can be printed in grey. Text in a figure
stays text in the SVG file.
"""

import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from textwrap import wrap
from typing import Any, NamedTuple

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter
from pandas import DataFrame, Series

from ablate.config.labels import arm_label, factor_label
from ablate.config.study import Levels, Screen
from ablate.evidence.outcome import CHANGED, Curve, Run, by_label
from ablate.metric import metric_of
from ablate.phrases import MARKS, grouped
from ablate.stats.means import t_quantile
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import LEVEL, Entry
from ablate.words.answer import claim_metric, direction, graded

CLIP_PATH = re.compile(r'(?<=<clipPath id=")\w+(?=")')
WIDTH = 6.5  # width of a figure in inches
LINE = 0.142  # height of a text line in inches
LABEL = 70  # largest number of letters in a line of the label of an x-axis
# Colours of arms. A figure has a single file for light and dark pages, so each colour has a
# contrast of at least 3 to 1 on both. The smallest distance between two colours was maximised for
# all kinds of colour vision.
ARM_COLOURS = ("#0072b2", "#b28a12", "#8c19ff", "#73661d", "#c266ff", "#999654")
INK = "#222"  # colour of text and axes
GRID = "#bbbbbb"
LINES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
STYLE: dict[Any, Any] = {
    "font.sans-serif": ["DejaVu Sans"],
    "text.parse_math": False,  # names of arms and metrics are no formulas
    "font.size": 9,
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 8.5),
    "legend.frameon": False,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
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

# returns a context manager that applies this style, whatever the user's matplotlib settings are
style = partial(matplotlib.style.context, STYLE, after_reset=True)

Curves = Mapping[str, Mapping[int, Curve]]  # by arm and seed
# for each line and level, the values of all seeds
Points = dict[str, dict[float | str, list[float]]]
Styles = dict[str, dict[str, Any]]  # label, colour and line style of each line, by its label


def line_styles(runs: list[Run], lines: Mapping[str, Levels] | None = None) -> Styles:
    """Return label, colour and line style of each line of a figure.

    A line takes the colour of the first option of its arm, in the order of the factors, and an
    option keeps its colour in all figures of a study. Lines of the same colour differ in style.

    Args:
        runs: all runs of the study.
        lines: levels of the arm of each line, by the label of the line; None for all arms.
    """
    lines = lines or {label: members[0]["levels"] for label, members in by_label(runs).items()}
    factors, levels = runs[0]["levels"], [run["levels"] for run in runs]
    options = dict.fromkeys((key, str(each.get(key))) for key in factors for each in levels)
    numbers = {option: number for number, option in enumerate(options)}
    firsts = {
        label: min((numbers.get((key, str(level)), 0) for key, level in arm.items()), default=0)
        for label, arm in lines.items()
    }
    used, styles, apart = list[tuple[int, int]](), Styles(), len({*firsts.values()})
    for label, first in firsts.items():
        colour = first % 6
        wanted = first + apart * sum(other == colour for other, _ in used)
        line = min(range(6), key=lambda line: (used.count((colour, line)), (line - wanted) % 6))
        used.append((colour, line))
        styles[label] = {"label": label, "color": ARM_COLOURS[colour], "linestyle": LINES[line]}
    return styles


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
    each = label.splitlines()
    lines = (wrap(x, width, break_long_words=cut, break_on_hyphens=False) for x in each)
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


def draw_curves(curves: Curves, styles: Styles) -> Figure:
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
            marker = "o" if len(seeds) == 1 else None  # a line of one point is invisible
            (line,) = axes.plot(seeds.index, seeds.mean(axis=1), marker=marker, **styles[arm])
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


def draw_levels(
    label: str, factor: str, points: Points, styles: Styles, *, log: bool = False
) -> Figure:
    """Draw a mark for every run, and for each line the means over seeds. Levels that are all
    numbers are in ascending order.

    Args:
        label: label of the metric, for the y-axis.
        factor: config key of the factor on the x-axis.
        points: values to draw, by line and level.
        styles: colour and line style of each line.
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
        (drawn,) = axes.plot([*places], means, **styles[name])
        for x, values in places.items():
            axes.plot([x] * len(values), values, "o", color=drawn.get_color(), alpha=0.45, ms=4)
    if log:
        log_y(axes)
    add_legend(axes)
    width = min(TICK, ROOM // len(levels))
    axes.set_xticks(range(len(levels)), [folded(str(level), width) for level in levels])
    axes.set(xlim=(-0.5, len(levels) - 0.5), xlabel=factor_label(factor), ylabel=folded(label))
    return figure


# the unit of a slope; an exponent has none
PER = {"linear": "per unit of", "log": "per doubling of", "log_log": ""}


class Row(NamedTuple):
    """An estimate in a forest plot.

    Args:
        name: text beside the row.
        effect: the estimate; None if only points are drawn.
        interval: ends of the interval; () without one.
        colour, marker: appearance of the estimate.
        narrow: ends of a narrower interval, which is drawn as a thick line.
        points: single values below the estimate, such as those of the seeds, with their markers.
        word: text to the right of the panel.
    """

    name: str
    effect: float | None
    interval: Sequence[float] = ()
    colour: str = INK
    marker: str = "o"
    narrow: Sequence[float] = ()
    points: Sequence[tuple[float, str]] = ()
    word: str = ""


class Panel(NamedTuple):
    """The rows of an axis, its label, and the ends of the margin; `sides` is None if the values
    are no effects, and the axis need not contain 0.
    """

    label: str
    rows: list[Row]
    sides: Sequence[float] | None = ()


def draw_forest(panels: Sequence[Panel]) -> Figure:
    """Draw panels with a row for each estimate, one panel below the other."""
    names = [[folded(row.name) for row in panel.rows] for panel in panels]
    heights = []
    for panel, labels in zip(panels, names, strict=True):
        lines = max(label.count("\n") + 1 for label in labels)
        least = 0.55 if any(row.points for row in panel.rows) else 0.24
        title = LINE * folded(panel.label, LABEL).count("\n")
        heights.append(0.75 + title + max(least, 0.1 + LINE * lines) * len(labels))
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    drawn = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    for axes, panel, labels in zip(drawn, panels, names, strict=True):
        if panel.sides is not None:
            _draw_margin(axes, panel.sides)
        for place, row in enumerate(panel.rows):
            _draw_row(axes, -place, row)
        axes.set_yticks([-place for place in range(len(labels))], labels)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.06)
        axes.locator_params(axis="x", nbins=7)  # more labels overlap if they have many digits
        axes.set(ylim=(0.5 - len(labels), 0.5), xlabel=folded(panel.label, LABEL))
    return figure


def _draw_margin(axes: Axes, sides: Sequence[float]) -> None:
    """Draw a line at 0 and at each end of the margin, and shade the range between two ends."""
    axes.axvline(0, color=INK, linestyle="-", linewidth=0.9, zorder=1)
    for side in sides:
        axes.axvline(side, color=INK, linestyle="--", linewidth=0.9, zorder=1)
    if len(sides) == 2:
        axes.axvspan(*sides, color=GRID, alpha=0.3, linewidth=0)


def _draw_row(axes: Axes, middle: int, row: Row) -> None:
    above = middle + 0.12 * bool(row.points)
    for ends, width in ((row.interval, 1.6), (row.narrow, 4.0)):
        axes.plot(ends, [above] * len(ends), "|-", color=row.colour, linewidth=width, markersize=8)
    if row.effect is not None:
        axes.plot([row.effect], [above], row.marker, color=row.colour, markersize=6.5)
    below = np.linspace(middle - 0.12, middle - 0.28, len(row.points))
    for (value, marker), height in zip(row.points, below, strict=True):
        axes.plot([value], [height], marker, ms=3.2, fillstyle="none", color=INK, alpha=0.75)
    axes.text(1.015, middle, row.word, transform=axes.get_yaxis_transform(), va="center")


def gain_row(name: str, gain: float, error: float, df: float) -> Row:
    """Return the row of a predicted gain, with its confidence interval."""
    half = -t_quantile((1 - LEVEL) / 2, df) * error
    return Row(name, gain, (gain - half, gain + half))


def draw_effects(claims: Sequence[Entry], places: Sequence[str] = ()) -> Figure:
    """Draw a row for each claim; effects of the same metric, margin and size share a panel.

    Args:
        claims: the claims with their effects.
        places: a text below the name of each claim, such as its corpus; () for none.
    """
    panels: dict[tuple[str, Sequence[float], int], list[Row]] = {}
    for claim, place in zip(claims, places or [""] * len(claims), strict=True):
        size = claim["margin"] or claim["tolerance"]
        sides = tuple(sign * size for sign in KINDS[claim["kind"]].signs) if size else ()
        limit = "margin" if claim["margin"] else "tolerance"
        label = _axis(claim) + f"; dashed: {limit} {size:g}" * bool(size)
        row = _row(claim, place)
        largest = max(map(abs, (*row.interval, *sides, claim["effect"] or 0.0, 1e-12)))
        rows = panels.setdefault((label, sides, round(math.log10(largest))), [])
        rows.append(row)
        if (predicted := claim.get("predicted")) and claim["kind"] != "equivalence":
            rows.append(gain_row("predicted", **predicted))
    return draw_forest([Panel(label, rows, sides) for (label, sides, _), rows in panels.items()])


def draw_gains(rows: Iterable[Row], screen: Screen) -> Figure:
    """Draw the gains of the variants of a screen, the largest first; gains of the same size share a
    panel.
    """
    label, margin = f"gain over the baseline, {metric_of(screen['metric']).axis}", screen["margin"]
    panels: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: -(row.effect or 0.0)):
        largest = max(map(abs, (*row.interval, row.effect or 0.0, margin or 1e-12)))
        panels.setdefault(round(math.log10(largest)), []).append(row)
    sides = (-margin, margin) if margin else ()
    return draw_forest([Panel(label, panel, sides) for panel in panels.values()])


def has_effect(claim: Entry) -> bool:
    """Return whether a claim compares arms and has an estimated effect."""
    return claim["effect"] is not None and (claim["kind"] == "trend" or bool(claim["treatment"]))


def contrast_lines(claim: Entry) -> list[str]:
    """Return the arms that a claim compares, in short lines: `Pre-LN`, `against Post-LN`, `with no
    warm-up`.
    """
    lines = [f"slope over {factor_label(claim['over'])}"] if claim["kind"] == "trend" else []
    if claim["treatment"]:
        other = f"{claim['target']:g}" if "target" in claim else arm_label(claim["baseline"])
        lines = [arm_label(claim["treatment"]), f"against {other}"]
    lines += [f"with {arm_label(claim['where'])}"] if claim["where"] else []
    if claim.get("predicted") and claim["kind"] == "equivalence":
        lines += ["minus the predicted gain"]
    lines += [f"after {grouped(claim['steps'])} steps"] if "steps" in claim else []
    return lines + ([f"more than with {arm_label(claim['minus'])}"] if claim["minus"] else [])


def _row(claim: Entry, place: str) -> Row:
    mark = MARKS[claim["verdict"]]
    return Row(
        name="\n".join(line for line in (*contrast_lines(claim), place) if line),
        effect=claim["effect"],
        interval=claim["interval"] or (),
        colour=mark.colour,
        marker=mark.marker,
        narrow=claim.get("interval_equivalence") or (),
        points=[(seed, "o") for seed in claim["differences"] if seed is not None],
        word=graded(claim["verdict"], ""),
    )


def _axis(claim: Entry) -> str:
    """Return the label, with the unit, of the axis on which the effect of a claim is drawn."""
    metric, rises = claim_metric(claim), claim["better"] == "higher"
    if claim["kind"] == "trend":
        per, over = PER[claim["scale"]], factor_label(claim["over"])
        if not per:
            return f"exponent of {metric.name} over {over}{'' if rises else ', sign turned'}"
        return f"{'rise' if rises else 'fall'} of {metric.axis} {per} {over}"
    if claim["metric"].endswith(CHANGED):  # a difference already
        return metric.axis
    return f"{'fall of' if direction(claim) < 0 else 'difference in'} {metric.axis}"
