"""The figure of growth: speed above, memory below, one column per axis, both scales logarithmic."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, ORANGE = "#0072B2", "#D55E00"  # of Okabe and Ito, distinguishable for all


class Column(NamedTuple):
    """An axis: its name, and the exponents that theory gives where its term dominates."""

    label: str
    speed: float | None
    memory: float | None


# At a fixed number of tokens per batch. Attention compares every token with its whole sentence;
# weights and products of layers go with d_model^2; projection and embedding with the vocabulary;
# nothing of a training step knows how large the corpus is.
COLUMNS = {
    "length": Column("sentence length (tokens)", -1, 1),
    "d_model": Column("d_model", -2, None),
    "vocabulary": Column("vocabulary (entries)", -1, 1),
    "layers": Column("layers of each stack", -1, 1),
    "corpus": Column("corpus (sentence pairs)", 0, 0),
}
ROWS = {
    "rate": ("speed (target tokens/s)", "speed"),
    "grown_mib": ("peak memory above the idle process (MiB)", "memory"),
}


def draw(points: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the points of every axis that has some, into a file."""
    axes = [axis for axis in COLUMNS if any(point["axis"] == axis for point in points)]
    size = (3.2 * len(axes), 6.0)
    with mpl.rc_context({"svg.hashsalt": "growth", "font.size": 9}):
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(ROWS), len(axes), squeeze=False)
        for i, (quantity, (label, side)) in enumerate(ROWS.items()):
            for j, axis in enumerate(axes):
                axis_points = [_grown(point) for point in points if point["axis"] == axis]
                theory = getattr(COLUMNS[axis], side)
                _panel(grid[i, j], axis_points, quantity, theory)
                grid[i, j].set_xlabel(COLUMNS[axis].label)
            grid[i, 0].set_ylabel(label)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


def _grown(point: dict[str, Any]) -> dict[str, Any]:
    return {**point, "grown_mib": point["peak_mib"] - point["before_mib"]}


def exponent(values: npt.ArrayLike, measured: npt.ArrayLike) -> float:
    """Return the slope in log-log scale over the larger half of the values, at least two."""
    x, y = np.log(values), np.log(measured)
    last = max(2, (len(x) + 1) // 2)
    slope, _ = np.polyfit(x[-last:], y[-last:], 1)
    return float(slope)


def _panel(
    axes: Axes, points: Sequence[dict[str, Any]], quantity: str, theory: float | None
) -> None:
    """Draw one curve, with the fitted exponent and, from the last point back, the theoretical."""
    points = sorted(points, key=lambda point: point["value"])
    x = np.array([point["value"] for point in points], dtype=float)
    y = np.array([point[quantity] for point in points], dtype=float)
    fitted = f"measured, exponent {exponent(x, y):.2f}" if len(x) > 1 else "measured"
    axes.loglog(x, y, "o-", color=BLUE, label=fitted)
    if theory is not None and len(x) > 1:
        half = x[-max(2, (len(x) + 1) // 2) :]
        line = y[-1] * (half / half[-1]) ** theory
        axes.loglog(half, line, "--", color=ORANGE, label=f"theory, exponent {theory:g}")
    low, high = y.min(), y.max()
    axes.set_ylim(low / 2, high * 2)
    axes.grid(True, which="major", linewidth=0.4, alpha=0.5)
    axes.legend(frameon=False, fontsize=8)
