"""Draw figures with a row for each arm, claim or variant: the metric of every run, the effect of
every claim, and the variants of a screen (a study that compares many variants with one baseline).
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import spelled
from ablate.evidence.types import Entry
from ablate.report.draw.style import (
    GRID,
    WIDTH,
    folded,
    legend_height,
    looks,
    name_rows,
    share_legend,
    stack,
)
from ablate.report.marks import ARM_COLOURS, INK, MARKS, panels
from ablate.report.selection import (
    BETTER,
    NOT_BETTER,
    NOT_WORSE,
    OPEN,
    SHOWS,
    WORSE,
    Component,
    bound,
    contrast,
    effect_axis,
)
from ablate.verdict.decision import INCONCLUSIVE
from ablate.verdict.kind import KINDS

LINE = 0.142  # height of a text line in inches
LABEL = 70  # largest number of letters in a line of the axis label
SPREAD = 0.3  # vertical range of the dots above and below the line of their arm, by seed
WRONG = {"diverged": "x", "collapsed": "+"}  # markers of runs that did not finish
# fields that must be equal for claims on one axis
SHARED = ("metric", "kind", "margin", "tolerance", "better", "over", "scale")
ALIKE = 8  # largest ratio of the sizes of effects on one axis
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

Row = tuple[Entry, str]  # a claim, and the name of its row
Point = tuple[int, float, str]  # seed, value, status


def _height(names: Sequence[str], least: float, between: float) -> float:
    """Return the height, in inches, of each row of a panel whose rows have these names.

    Args:
        names: names of the rows, as they are wrapped.
        least: smallest height of a row.
        between: space between two names.
    """
    return max(least, between + LINE * max(name.count("\n") + 1 for name in names))


def draw_runs(
    label: str,
    points: dict[str, list[Point]],
    means: dict[str, float],
) -> Figure:
    """Draw a row of dots for each arm, with the arm's mean as a line.

    Args:
        label: label of the metric, for the axis.
        points: seed, value and status of every run, by arm.
        means: the mean of each arm.
    """
    groups = panels(list(points))
    heights = [_height([*map(folded, group)], 0.46, 0.03) for group in groups]
    figure, axes = stack([0.6 + h * len(group) for h, group in zip(heights, groups, strict=True)])
    for panel, arms in zip(axes, groups, strict=True):
        if panel is not axes[0]:
            panel.sharex(axes[0])
        _draw_dots(panel, arms, points, means)
        panel.set_xlabel(folded(label, LABEL))
    return figure


def _draw_dots(
    axes: Axes,
    arms: list[str],
    points: dict[str, list[Point]],
    means: dict[str, float],
) -> None:
    seeds = sorted({seed for arm in points.values() for seed, _, _ in arm})
    places = dict(zip(seeds, np.linspace(SPREAD, -SPREAD, len(seeds)), strict=True))
    if len(seeds) == 1:
        places = {seeds[0]: 0.0}
    for row, (arm, look) in enumerate(looks(arms).items()):
        by_marker: dict[str, list[Point]] = {}
        for point in points[arm]:
            by_marker.setdefault(WRONG.get(point[2], look.marker), []).append(point)
        for marker, marked in by_marker.items():
            heights = [places[seed] - row for seed, *_ in marked]
            axes.plot([x for _, x, _ in marked], heights, marker, color=look.colour, alpha=0.9)
        mean = means.get(arm)
        if mean is not None and len(points[arm]) > 1:
            axes.plot([mean, mean], [-row - 0.4, -row + 0.4], color=INK, linewidth=1.4)
    name_rows(axes, [folded(arm) for arm in arms], "arm")


def draw_effects(claims: Sequence[Entry], places: Sequence[str] = ()) -> Figure:
    """Draw a row for each claim; claims with the same metric and margin share an axis if their
    effects have similar sizes.

    Args:
        claims: the claims with their effects.
        places: a text below the name of each claim, such as its corpus; () for none.
    """
    groups: list[list[Row]] = []
    for claim, place in zip(claims, places or [""] * len(claims), strict=True):
        lines = [folded(line) for line in (*contrast(claim), place) if line]
        if groups and _share_axis([drawn for drawn, _ in groups[-1]], claim):
            groups[-1].append((claim, "\n".join(lines)))
        else:
            groups.append([(claim, "\n".join(lines))])
    labels = [folded(_axis(group[0][0]), LABEL) for group in groups]
    rows = [_height([name for _, name in group], 0.62, 0.14) * len(group) for group in groups]
    around = [0.75 + LINE * label.count("\n") for label in labels]
    figure, axes = stack([height + room for height, room in zip(rows, around, strict=True)])
    for panel, group, label in zip(axes, groups, labels, strict=True):
        _draw_claims(panel, group)
        panel.set_xlabel(label)
    return figure


def _share_axis(group: list[Entry], claim: Entry) -> bool:
    sizes = [_reach(second) for second in (*group, claim)]
    first, second = dict(group[0]), dict(claim)
    same = all(first[key] == second[key] for key in SHARED)
    return same and max(sizes) <= ALIKE * min(sizes)


def _reach(claim: Entry) -> float:
    """Return the largest absolute value that the row of a claim must show."""
    return max(map(abs, (*(claim["interval"] or ()), claim["effect"], bound(claim)[1], 1e-12)))


def _draw_claims(axes: Axes, rows: list[Row]) -> None:
    _draw_bound(axes, rows[0][0])
    for row, (claim, _) in enumerate(rows):
        _draw_row(axes, row, claim)
    name_rows(axes, [name for _, name in rows], "contrast", ends=(0.45, 0.5))
    axes.margins(x=0.06)
    axes.locator_params(axis="x", nbins=7)  # more labels would overlap if they have many digits


def _axis(claim: Entry) -> str:
    which, size = bound(claim)
    return f"{effect_axis(claim)}; dashed: {which} {size:g}" if size else effect_axis(claim)


def _draw_bound(axes: Axes, claim: Entry) -> None:
    axes.axvline(0, color=INK, linewidth=0.9, zorder=1)
    _, size = bound(claim)
    if not size:
        return
    sides = KINDS[claim["kind"]].bounds(size)
    for side in sides:
        axes.axvline(side, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    if len(sides) == 2:
        axes.axvspan(*sides, color=GRID, alpha=0.3, linewidth=0)


def _draw_row(axes: Axes, row: int, claim: Entry) -> None:
    above, middle, below = -row + 0.12, -row, -row - 0.12
    mark = MARKS[claim["verdict"]]
    colour = mark.colour
    seeds = [difference for difference in claim["differences"] if difference is not None]
    places = below - 0.16 * np.linspace(0, 1, max(1, len(seeds)))[: len(seeds)]
    axes.plot(seeds, places, "o", markersize=3.2, markerfacecolor="none", color=INK, alpha=0.75)
    for ends, width in ((claim["interval"], 1.6), (claim.get("interval_equivalence"), 4.0)):
        if ends:
            axes.plot(ends, [above] * 2, color=colour, linewidth=width, solid_capstyle="butt")
            axes.plot(ends, [above] * 2, "|", color=colour, markersize=8, markeredgewidth=1.6)
    axes.plot([claim["effect"] or 0.0], [above], mark.marker, color=colour, markersize=6.5)
    beside = axes.get_yaxis_transform()
    word = "undecided" if claim["verdict"] == INCONCLUSIVE else claim["verdict"]
    axes.text(1.015, middle, word, transform=beside, va="center", fontweight="bold")


def draw_components(rows: Sequence[Component], metric: str, margin: float) -> Figure:
    """Draw a row for each variant of a screen, in the given order.

    Args:
        rows: the variants.
        metric: label of the axis of effects, with the unit.
        margin: smallest difference that matters; 0 if there is none.
    """
    has_costs = any(cost is not None for row in rows for cost in row.costs)
    height = 0.9 + 0.24 * len(rows) + legend_height(SHOWS)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    ratios = (3, 1, 1) if has_costs else (1,)
    panels = figure.subplots(1, len(ratios), squeeze=False, sharey=True, width_ratios=ratios)[0]
    _draw_gains(panels[0], rows, metric, margin)
    for number, panel in enumerate(panels[1:]):
        _draw_costs(panel, [row.costs[number] for row in rows], COSTS[number])
    share_legend(figure, panels, SHOWS)
    return figure


def _draw_gains(axes: Axes, rows: Sequence[Component], metric: str, margin: float) -> None:
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
