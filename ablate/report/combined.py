"""Show what a study of combinations found about all its factors: sentences and a figure."""

from functools import partial

import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure as Picture

from ablate.config.labels import arm_label
from ablate.evidence.types import Combined
from ablate.metric.table import metric_of
from ablate.phrases import listed, percent
from ablate.report.draw.style import WIDTH
from ablate.report.figures import Figure
from ablate.report.tables import by_effect
from ablate.verdict.combined import LEVEL

ROW = 0.28  # height of a row of the figure in inches


def sentences(result: Combined) -> list[str]:
    """Return sentences on noise, interactions and the best recipe."""
    say, lines = metric_of(result["metric"]).say, []
    low, high = result["interaction_interval"]
    if result["interaction"] is not None and result["run_deviation"] is not None:
        ends = f"{say(low)} to {say(high)}" if high is not None else "no upper limit"
        lines += [
            f"Two runs of a recipe vary by {say(result['run_deviation'])} (standard deviation). "
            f"Recipes vary around the sum of their effects by {say(result['interaction'])} "
            f"(95 % CI {ends}). The sum explains {percent(result['share'] or 0.0)} % of the "
            "variance between recipes."
        ]
    best = listed([arm_label({factor: level}) for factor, level in result["best"].items()])
    lines += [
        f"The best recipe is expected to have {best}. If gains add up, it is better than the first "
        f"levels by {say(result['predicted'])} ± {say(result['predicted_error'])} "
        "(standard error)."
    ]
    return lines


def figure(result: Combined) -> Figure:
    """Return the figure of all effects with their intervals."""
    caption = (
        "Gain of every change against the first level of its factor, the best at the top. The mark "
        f"is the gain at the best learning rates, and its line the {percent(LEVEL)}% confidence "
        "interval, not corrected for the number of changes. The open circle is the average gain "
        "over all learning rates."
    )
    return Figure("combined", "effects", caption, partial(_draw, result))


def _draw(result: Combined) -> Picture:
    rows = [change for change in by_effect(result) if change["effect"] is not None]
    picture, axes = pyplot.subplots(figsize=(WIDTH, 1.0 + ROW * len(rows)), layout="constrained")
    places = -np.arange(len(rows))
    effects = [change["effect"] or 0.0 for change in rows]
    widths = [change["half_width"] or 0.0 for change in rows]
    axes.errorbar(effects, places, xerr=widths, fmt="o")
    averages = [np.nan if (x := change["average"]) is None else x for change in rows]
    axes.plot(averages, places, "o", fillstyle="none", color="grey")
    axes.axvline(0.0, color="grey", linewidth=1)
    axes.set_yticks(places, [arm_label(change["level"]) for change in rows])
    axes.set_xlabel(f"gain in {metric_of(result['metric']).axis}")
    return picture
