"""Draw learning curves: for every arm, the mean over seeds and a band from minimum to maximum."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.metric.table import metric_of
from ablate.report.draw.style import (
    Look,
    log_y,
    looks,
    name_lines,
    nameable,
    rows_of_arms,
    share_legend,
)

METRICS = ("val/nll", "val/bleu")
MARKED = 20  # largest number of points of a line with markers
HEIGHT = 2.2  # height of a row of panels in inches
APART = 0.1  # smallest distance between names of lines, as a fraction of the height

Curve = dict[str, list[Any]]  # None stands for a value that was not finite


def draw_curves(curves: dict[str, list[Curve]], of: Sequence[str] = METRICS) -> Figure:
    """Draw a panel for each metric, side by side; if there are many arms, in several rows of
    panels.

    Args:
        curves: for each arm, the learning curve of each seed.
        of: keys of the metrics.
    """
    metrics = [m for m in of if any(m in curve for arm in curves.values() for curve in arm)]
    figure, rows = rows_of_arms(list(curves), HEIGHT, len(metrics), named=True)
    for row, axes, arms in rows:
        for panel, metric in zip(axes, metrics, strict=True):
            _draw_panel(panel, metric, arms, curves)
        ends = _ends(arms, curves, metrics[-1])
        if nameable(arms) and len(ends) == len(arms) and axes[-1].get_yscale() == "linear":
            name_lines(axes[-1], ends, APART)
        else:
            share_legend(row, axes, arms)
    return figure


def _ends(arms: list[str], curves: dict[str, list[Curve]], metric: str) -> dict[str, float]:
    """Return the last value of each arm's mean curve; arms without a value are left out."""
    lines = {arm: table(curves[arm], metric)[1] for arm in arms}
    return {arm: float(np.nanmean(line[:, -1])) for arm, line in lines.items() if line.size}


def _draw_panel(axes: Axes, metric: str, arms: list[str], curves: dict[str, list[Curve]]) -> None:
    for arm, look in looks(arms).items():
        steps, values = table(curves[arm], metric)
        if len(steps):
            _draw_arm(axes, arm, look, steps, values)
    axes.set_xlabel("optimiser steps")
    axes.set_ylabel(metric_of(metric).axis.replace(" (", "\n("))
    if len(arms) and metric.endswith("nll") and _wide(axes):
        log_y(axes)


def _wide(axes: Axes) -> bool:
    """Return whether the y range of a panel is so wide that most curves would look flat."""
    low, high = axes.dataLim.intervaly
    return bool(low > 0 and high / low > 50)


def _draw_arm(
    axes: Axes,
    arm: str,
    look: Look,
    steps: Float[np.ndarray, " points"],
    values: Float[np.ndarray, "seeds points"],
) -> None:
    low, mean, high = (f(values, axis=0) for f in (np.nanmin, np.nanmean, np.nanmax))
    axes.fill_between(steps, low, high, color=look.colour, alpha=0.18, linewidth=0)
    marker = look.marker if len(steps) <= MARKED else ""
    axes.plot(
        steps, mean, color=look.colour, linestyle=look.line, marker=marker, markersize=4, label=arm
    )


def table(
    curves: list[Curve], metric: str
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, "seeds points"]]:
    """Return the steps, and the values of a metric for all seeds at these steps; NaN for missing
    values.

    Values are missing for runs that stopped early, or had values that were not finite.
    """
    by_step = [
        {step: value for step, value in zip(curve["step"], curve[metric], strict=True)}
        for curve in curves
        if metric in curve
    ]
    points = ((step, value) for curve in by_step for step, value in curve.items())
    steps = sorted({step for step, value in points if value is not None})
    rows = [[curve.get(step) for step in steps] for curve in by_step]
    values = np.array(rows, dtype=float).reshape(len(by_step), len(steps))
    return np.array(steps, dtype=float), values
