"""Draw forest plots: a row for each estimate, with its interval and its single values."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import arm_label, factor_label
from ablate.metric.table import metric_in_words
from ablate.phrases import grouped
from ablate.report.draw import GRID, LABEL, LINE, WIDTH, folded
from ablate.report.marks import INK, MARKS
from ablate.stats.means import t_quantile
from ablate.verdict.designs import LEVEL
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import INCONCLUSIVE, Entry

# the unit of a slope; an exponent has none
PER = {"linear": "per unit of", "log": "per doubling of", "log_log": ""}
ALIKE = 8  # largest ratio of the sizes of effects on one axis


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
    heights = []
    for panel in panels:
        names = [_folded(row.name) for row in panel.rows]
        lines = max(name.count("\n") + 1 for name in names)
        least = 0.55 if any(row.points for row in panel.rows) else 0.24
        labels = LINE * folded(panel.label, LABEL).count("\n")
        heights.append(0.75 + labels + max(least, 0.1 + LINE * lines) * len(panel.rows))
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    drawn = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    for axes, panel in zip(drawn, panels, strict=True):
        if panel.sides is not None:
            _draw_margin(axes, panel.sides)
        for place, row in enumerate(panel.rows):
            _draw_row(axes, -place, row)
        names = [_folded(row.name) for row in panel.rows]
        axes.set_yticks([-place for place in range(len(names))], names)
        axes.set_ylim(0.5 - len(panel.rows), 0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.06)
        axes.locator_params(axis="x", nbins=7)  # more labels overlap if they have many digits
        axes.set_xlabel(folded(panel.label, LABEL))
    return figure


def _folded(name: str) -> str:
    return "\n".join(map(folded, name.splitlines()))


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
    for kind in sorted({marker for _, marker in row.points}):
        chosen = [marker == kind for _, marker in row.points]
        values = np.array([value for value, _ in row.points])[chosen]
        axes.plot(values, below[chosen], kind, ms=3.2, fillstyle="none", color=INK, alpha=0.75)
    axes.text(1.015, middle, row.word, transform=axes.get_yaxis_transform(), va="center")


def gain_row(name: str, gain: float, error: float, df: float) -> Row:
    """Return the row of a predicted gain, with its confidence interval."""
    half = -t_quantile((1 - LEVEL) / 2, df) * error
    return Row(name, gain, (gain - half, gain + half))


def panels_by_size(rows: Iterable[tuple[str, Sequence[float], Row]]) -> list[Panel]:
    """Return effects in panels: neighbours with the same label and margin share a panel if their
    effects have similar sizes.

    Args:
        rows: for each effect the label of its axis, the ends of its margin, and its row.
    """
    panels: list[Panel] = []
    for label, sides, row in rows:
        last = panels[-1] if panels else Panel("", [])
        sizes = [_size(each, sides) for each in (*last.rows, row)]
        if (last.label, last.sides) == (label, sides) and max(sizes) <= ALIKE * min(sizes):
            last.rows.append(row)
        else:
            panels.append(Panel(label, [row], sides))
    return panels


def _size(row: Row, sides: Sequence[float]) -> float:
    """Return the largest absolute value that a row must show."""
    return max(map(abs, (*row.interval, row.effect or 0.0, *sides, 1e-12)))


def draw_effects(claims: Sequence[Entry], places: Sequence[str] = ()) -> Figure:
    """Draw a row for each claim.

    Args:
        claims: the claims with their effects.
        places: a text below the name of each claim, such as its corpus; () for none.
    """
    rows = []
    for claim, place in zip(claims, places or [""] * len(claims), strict=True):
        size = claim["margin"] or claim["tolerance"]
        sides = KINDS[claim["kind"]].bounds(size) if size else ()
        dashed = (
            f"; dashed: {'margin' if claim['margin'] else 'tolerance'} {size:g}" if size else ""
        )
        label = f"{_axis(claim)}{dashed}"
        rows.append((label, sides, _row(claim, place)))
        if (predicted := claim.get("predicted")) and claim["kind"] != "equivalence":
            rows.append((label, sides, gain_row("predicted", **predicted)))
    return draw_forest(panels_by_size(rows))


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
    mark, verdict = MARKS[claim["verdict"]], claim["verdict"]
    return Row(
        name="\n".join(line for line in (*contrast(claim), place) if line),
        effect=claim["effect"],
        interval=claim["interval"] or (),
        colour=mark.colour,
        marker=mark.marker,
        narrow=claim.get("interval_equivalence") or (),
        points=[(seed, "o") for seed in claim["differences"] if seed is not None],
        word="undecided" if verdict == INCONCLUSIVE else verdict,
    )


def _axis(claim: Entry) -> str:
    """Return the label, with the unit, of the axis on which the effect of a claim is drawn."""
    metric = metric_in_words(claim["metric"], claim.get("measures"))
    rises = claim["better"] == "higher"
    if claim["kind"] == "trend":
        per, over = PER[claim["scale"]], factor_label(claim["over"])
        if not per:
            return f"exponent of {metric.name} over {over}{'' if rises else ', sign turned'}"
        return f"{'rise' if rises else 'fall'} of {metric.axis} {per} {over}"
    # this metric is a difference already, or the value of a single arm is drawn
    if claim["metric"].endswith("changed") or not claim["treatment"]:
        return metric.axis
    falls = not rises and claim["kind"] != "exact"  # a gain is then a fall
    return f"{'fall of' if falls else 'difference in'} {metric.axis}"
