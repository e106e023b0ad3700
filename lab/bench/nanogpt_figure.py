"""Draw the figure of `lab.bench.nanogpt_speed`: tokens per second against each size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from lab.bench.growth_figure import BLUE, ORANGE

SIDES = {"ablate": ("ablate", BLUE, "-"), "by_hand": ("loop by hand", ORANGE, "-")}
SIDES |= {"products": ("ablate's matrix products alone", BLUE, ":")}


def draw(points: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw tokens per second of all sides in log-log scale, with a panel for each axis.

    Args:
        points: each has an axis, a value, and tokens per second by side.
        path: the SVG file.
    """
    axes = list(dict.fromkeys(point["axis"] for point in points))
    with mpl.rc_context({"svg.hashsalt": "nanogpt_speed", "font.size": 9}):
        figure = Figure(figsize=(3.2 * len(axes), 3.2), layout="constrained")
        panels = figure.subplots(1, len(axes), squeeze=False, sharey=True)[0]
        for panel, axis in zip(panels, axes, strict=True):
            line = [point for point in points if point["axis"] == axis]
            values = [point["value"] for point in line]
            for side, (label, colour, style) in SIDES.items():
                rates = [point[side] for point in line]
                panel.loglog(values, rates, f"o{style}", color=colour, label=label, markersize=4)
            panel.set_xlabel(axis)
            panel.set_xticks(values, [str(value) for value in values])
            panel.minorticks_off()
            panel.grid(True, which="major", linewidth=0.4, alpha=0.5)
        panels[0].set_ylabel("speed (tokens/s)")
        panels[0].legend(frameon=False, fontsize=8)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
