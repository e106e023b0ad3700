"""Draw the figure of `lab.bench.growth`: speed and memory against each size, in log-log scale."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, ORANGE = "#0072B2", "#D55E00"  # from the palette of Okabe and Ito, safe for colour blindness


class Column(NamedTuple):
    """A column of the figure: the label of its x-axis, and the theoretical exponents.

    An exponent holds if the term that depends on this size dominates. None: no exponent is drawn.
    """

    label: str
    speed: float | None
    memory: float | None


# The exponents are for a fixed number of tokens per batch. Attention compares every token with its
# whole sentence. Weights and matrix products of the layers are proportional to d_model^2. Output
# projection and embedding are proportional to the vocabulary. A training step does not depend on
# the size of the corpus.
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
    """Draw the points into an SVG file: a column for each axis with points, speed above memory."""
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
    """Return the slope in log-log scale, fitted to the larger half of the values.

    At least two values are used. `values` must be ascending.
    """
    x, y = np.log(values), np.log(measured)
    last = max(2, (len(x) + 1) // 2)
    slope, _ = np.polyfit(x[-last:], y[-last:], 1)
    return float(slope)


def _panel(
    axes: Axes, points: Sequence[dict[str, Any]], quantity: str, theory: float | None
) -> None:
    """Draw a curve with its fitted exponent, and a line through the last point for the theory.

    Args:
        axes: the panel.
        points: the points of an axis.
        quantity: the measured quantity, a key of ROWS.
        theory: theoretical exponent; None: no line.
    """
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
