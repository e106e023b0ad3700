"""Draw all variants of a screen (a study that compares many variants with one baseline): the effect
with its interval, and beside it time and memory.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import spelled
from ablate.report.components import (
    BETTER,
    NOT_BETTER,
    NOT_WORSE,
    OPEN,
    SHOWS,
    WORSE,
    Component,
)
from ablate.report.draw.style import (
    GRID,
    INK,
    WIDTH,
    folded,
    legend_height,
    name_rows,
    share_legend,
)
from ablate.report.marks import ARM_COLOURS, MARKS

ROW = 0.24  # height of a row in inches
AROUND = 0.9  # height of the axis labels in inches
COSTS = ("time", "memory")
FAR = 10  # effects of so many margins do not set the scale of the axis
# colour and marker for each value of `Component.shows`
LOOKS = {
    BETTER: (MARKS["supported"].colour, "o"),
    WORSE: (MARKS["refuted"].colour, "s"),
    NOT_WORSE: (ARM_COLOURS[0], "^"),
    NOT_BETTER: (ARM_COLOURS[0], "v"),
    OPEN: (MARKS["inconclusive"].colour, "D"),
}


def draw_components(rows: Sequence[Component], metric: str, margin: float) -> Figure:
    """Draw a row for each variant of a screen, in the given order.

    Args:
        rows: the variants.
        metric: label of the axis of effects, with the unit.
        margin: smallest difference that matters; 0 if there is none.
    """
    has_costs = any(cost is not None for row in rows for cost in row.costs)
    height = AROUND + ROW * len(rows) + legend_height(SHOWS)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    ratios = (3, 1, 1) if has_costs else (1,)
    panels = figure.subplots(1, len(ratios), squeeze=False, sharey=True, width_ratios=ratios)[0]
    _draw_effects(panels[0], rows, metric, margin)
    for number, panel in enumerate(panels[1:]):
        _draw_costs(panel, [row.costs[number] for row in rows], COSTS[number])
    share_legend(figure, panels, SHOWS)
    return figure


def _draw_effects(axes: Axes, rows: Sequence[Component], metric: str, margin: float) -> None:
    axes.axvline(0, color=INK, linewidth=0.9, zorder=1)
    if margin:
        axes.axvspan(-margin, margin, color=GRID, alpha=0.3, linewidth=0)
    far = far_rows(rows, margin)
    near = [row for row in rows if row not in far]
    if far:
        axes.set_xlim(*_limits(near, margin))
    for place, row in enumerate(rows):
        colour, marker = LOOKS[row.shows]
        if row in far:
            _draw_arrow(axes, row, -place)
            continue
        if row.interval:
            axes.plot(row.interval, [-place] * 2, color=colour, linewidth=1.6)
        axes.plot([row.effect], [-place], marker, color=colour, label=row.shows)
    name_rows(
        axes, [folded(spelled(row.name)) for row in rows], "variant", ends=(0.4, 0.6), grid=True
    )
    axes.set_xlabel(f"gain over the baseline,\n{metric}")
    axes.locator_params(axis="x", nbins=6)


def far_rows(rows: Sequence[Component], margin: float) -> list[Component]:
    """Return the variants whose effects are too large for the axis.

    With them on the axis, no difference between the other variants could be seen.
    """
    far = [row for row in rows if margin and abs(row.effect) > FAR * margin]
    return far if len(far) < len(rows) else []


def _limits(rows: Sequence[Component], margin: float) -> tuple[float, float]:
    """Return the ends of the axis of effects, with room for the marks of variants outside."""
    ends = [end for row in rows for end in (row.effect, *(row.interval or ()))]
    low, high = min(-margin, *ends), max(margin, *ends)
    room = 0.3 * (high - low)
    return low - room, high + room


def _draw_arrow(axes: Axes, row: Component, place: int) -> None:
    """Draw an arrow at the end of the axis, and beside it the effect, which is outside."""
    colour, marker = LOOKS[row.shows]
    left, right = axes.get_xlim()
    low, inset = row.effect < 0, 0.015 * (right - left)
    x = left + inset if low else right - inset
    axes.plot([x], [place], "<" if low else ">", color=colour)
    axes.plot([], [], marker, color=colour, label=row.shows)  # for the legend
    axes.annotate(
        f"{row.effect:+.2g}".replace("-", "\N{MINUS SIGN}"),
        (x, place),
        xytext=(7 if low else -7, 0),
        textcoords="offset points",
        ha="left" if low else "right",
        va="center",
        size="small",
        color=colour,
    )


def _draw_costs(axes: Axes, ratios: Sequence[float | None], name: str) -> None:
    axes.axvline(1, color=INK, linewidth=0.9, zorder=1)
    places = [(ratio, -place) for place, ratio in enumerate(ratios) if ratio is not None]
    axes.plot([x for x, _ in places], [y for _, y in places], "o", color=INK, markersize=3.5)
    axes.set_xlabel(f"{name},\ntimes that of\nthe baseline")
    axes.set_ylabel("")
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=3)
    axes.margins(x=0.15)
