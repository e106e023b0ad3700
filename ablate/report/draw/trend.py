"""Draw a metric against a numeric factor, with every run and the fitted line."""

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ablate.config.labels import factor_label
from ablate.evidence.types import ReportedClaim
from ablate.metric.table import metric_in_words
from ablate.report.draw.style import INK, folded, log_y, stack
from ablate.report.marks import ARM_COLOURS

HEIGHT = 3.0  # height in inches


def draw_trend(claim: ReportedClaim, points: list[tuple[float, float]]) -> Figure:
    """Draw the runs and the fitted line of a trend claim; `points` are (level, value) of every
    run.
    """
    scale, effect = claim["scale"], claim["effect"]
    figure, (axes,) = stack([HEIGHT])
    levels, values = np.array(points, dtype=float).T
    axes.plot(levels, values, "o", color=ARM_COLOURS[0], alpha=0.8, label="one run")
    if effect is not None:
        slope = effect if claim["better"] == "higher" else -effect
        ends = np.array([levels.min(), levels.max()])
        axes.plot(*line(scale, levels, values, slope, ends), color=INK, label="fitted line")
    if scale != "linear":
        axes.set_xscale("log")
        axes.set_xticks(sorted(set(levels)), [f"{level:g}" for level in sorted(set(levels))])
        axes.minorticks_off()
    if scale == "log_log":
        log_y(axes)
    axes.set_xlabel(
        f"{factor_label(claim['over'])} ({'linear' if scale == 'linear' else 'logarithmic'} axis)"
    )
    axes.set_ylabel(folded(metric_in_words(claim["metric"], claim.get("measures")).axis))
    axes.legend()
    return figure


def line(
    scale: str,
    levels: Float[np.ndarray, " runs"],
    values: Float[np.ndarray, " runs"],
    slope: float,
    ends: Float[np.ndarray, " points"],
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """Return points on the line with a given slope through the means of x and y (the least-squares
    line).

    Args:
        scale: linear | log | log_log, the scale on which the line is straight.
        levels: x of each run.
        values: y of each run.
        slope: the slope.
        ends: x values at which the line is computed.
    """
    x, at = (levels, ends) if scale == "linear" else (np.log2(levels), np.log2(ends))
    y = np.log2(values) if scale == "log_log" else values
    fitted = y.mean() + slope * (at - x.mean())
    return ends, 2**fitted if scale == "log_log" else fitted
