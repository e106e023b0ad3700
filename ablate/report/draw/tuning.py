"""Draw the validation score of every arm against the tuned hyperparameter, with every tuning
run.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ablate.metric.table import metric_of
from ablate.report.draw.style import legend_height, looks, rows, share_legend
from ablate.report.marks import panels

HEIGHT = 2.4  # height of a row of panels in inches

Points = list[tuple[float, float]]


def draw_tuning(key: str, metric: str, arms: dict[str, Points]) -> Figure:
    """Draw the scores of tuning runs against the values of a hyperparameter.

    Args:
        key: config key of the hyperparameter.
        metric: key of the validation metric.
        arms: for each arm, value and score of every tuning run.
    """
    groups = panels(list(arms))
    figure, parts = rows([HEIGHT + legend_height(group) for group in groups])
    for row, group in zip(parts, groups, strict=True):
        axes = row.subplots(1, 1, squeeze=False)[0]
        for arm, look in looks(group).items():
            values, scores = np.array(arms[arm], dtype=float).T
            tried = np.unique(values)
            means = [scores[values == value].mean() for value in tried]
            axes[0].plot(values, scores, look.marker, color=look.colour, alpha=0.35, markersize=3.5)
            axes[0].plot(
                tried,
                means,
                color=look.colour,
                linestyle=look.line,
                marker=look.marker,
                label=arm,
            )
        _label(axes[0], key, metric, sorted({x for arm in group for x, _ in arms[arm]}))
        share_legend(row, axes, group)
    return figure


def _label(axes: Any, key: str, metric: str, values: list[float]) -> None:
    if values[0] > 0:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.set_xlabel(key)
    axes.set_ylabel(metric_of(metric).axis)
