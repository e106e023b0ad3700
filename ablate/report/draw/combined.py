"""Draw the effects of a study of combinations, and predicted gains beside reached gains."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import arm_label
from ablate.report.draw.style import WIDTH, draw_margin, folded, name_rows
from ablate.report.marks import INK
from ablate.verdict.types import CombinedChange

ROW, AXIS = 0.28, 0.8  # height of a row, and of an axis with its label, in inches
PREDICTED = "#888888"


class Expected(NamedTuple):
    """A predicted gain with half the width of its interval, and the gain that runs reached."""

    name: str
    gain: float
    half_width: float
    reached: float | None = None
    interval: Sequence[float] = ()


def draw_changes(
    changes: Sequence[CombinedChange], predicted: Sequence[Expected], axis: str
) -> Figure:
    """Draw the effect of every change, in the given order, and below the predicted gains.

    Args:
        changes: the changes with their effects.
        predicted: the predicted gains of recipes.
        axis: label of the metric, with its unit.
    """
    rows = [change for change in changes if change["effect"] is not None]
    heights = [AXIS + ROW * len(rows), AXIS + ROW * len(predicted)]
    picture = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    upper, lower = picture.subplots(2, height_ratios=heights)
    places = -np.arange(len(rows))
    effects, widths, averages = (
        np.array([change[key] for change in rows], dtype=np.float64)  # None becomes NaN
        for key in ("effect", "half_width", "average")
    )
    upper.errorbar(effects, places, xerr=widths, fmt="o", color=INK)
    upper.plot(averages, places, "o", fillstyle="none", color=PREDICTED)
    _name(upper, [arm_label(change["level"]) for change in rows], f"gain, {axis}")
    _draw(lower, predicted, axis)
    return picture


def draw_expected(rows: Sequence[Expected], axis: str) -> Figure:
    """Draw predicted and reached gains; `axis` is the label of the metric, with its unit."""
    picture = Figure(figsize=(WIDTH, AXIS + 1.5 * ROW * len(rows)), layout="constrained")
    _draw(picture.subplots(), rows, axis)
    return picture


def _draw(axes: Axes, rows: Sequence[Expected], axis: str) -> None:
    for place, row in enumerate(rows):
        above = 0.15 * (row.reached is not None)
        ends, y = (row.gain - row.half_width, row.gain + row.half_width), above - place
        axes.plot(ends, [y, y], "-", color=PREDICTED)
        axes.plot([row.gain], [y], "o", markerfacecolor="white", color=PREDICTED)
        if row.reached is not None:
            axes.plot([row.reached], [-above - place], "o", color=INK)
            axes.plot([*row.interval], [-above - place] * len(row.interval), "-", color=INK)
    _name(axes, [row.name for row in rows], f"predicted gain, {axis}")


def _name(axes: Axes, names: Sequence[str], label: str) -> None:
    draw_margin(axes, ())
    name_rows(axes, [folded(name) for name in names])
    axes.set_xlabel(label)
