"""Draw forest plots: a row for each estimate, with its interval and its single values."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import arm_label, factor_label
from ablate.evidence.outcome import CHANGED
from ablate.evidence.types import Screen
from ablate.metric import metric_of
from ablate.phrases import grouped
from ablate.report.draw import GRID, LABEL, LINE, WIDTH, folded
from ablate.report.marks import INK, MARKS
from ablate.stats.means import t_quantile
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import LEVEL, Entry
from ablate.words.answer import claim_metric, direction, graded

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
        sides = KINDS[claim["kind"]].bounds(size) if size else ()
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
    compared = claim["kind"] == "trend" or bool(claim["treatment"])
    return compared and claim["effect"] is not None


def contrast(claim: Entry) -> list[str]:
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
        name="\n".join(line for line in (*contrast(claim), place) if line),
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
