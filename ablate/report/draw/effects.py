"""Draw the effect of every claim: its interval, the difference of every seed, zero and the
margin.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.evidence.types import ReportedClaim
from ablate.report.draw.style import GRID, INK, folded, name_rows, stack
from ablate.report.marks import MARKS
from ablate.report.selection import bound, contrast, effect_axis
from ablate.verdict.decision import INCONCLUSIVE
from ablate.verdict.kind import KINDS

ROW = 0.62  # smallest height of a row in inches
LINE, BETWEEN = 0.142, 0.05  # inches: height of a text line, and space between two names
AROUND = 0.75  # height of an axis with its label in inches
# fields that must be equal for claims on one axis
SHARED = ("metric", "kind", "margin", "tolerance", "better", "over", "scale")
ALIKE = 8  # largest ratio of the sizes of effects on one axis


def draw_effects(claims: list[ReportedClaim]) -> Figure:
    """Draw a row for each claim; claims with the same metric and margin share an axis if their
    effects have similar sizes.
    """
    groups = _groups(claims)
    figure, axes = stack([AROUND + _height(group) * len(group) for group in groups])
    for panel, group in zip(axes, groups, strict=True):
        _draw_panel(panel, group)
    return figure


def _height(claims: list[ReportedClaim]) -> float:
    """Return the height, in inches, of each row of a panel with these claims."""
    lines = max(_name(claim).count("\n") + 1 for claim in claims)
    return max(ROW, BETWEEN + LINE * lines)


def _name(claim: ReportedClaim) -> str:
    return "\n".join(map(folded, contrast(claim)))


def _groups(claims: list[ReportedClaim]) -> list[list[ReportedClaim]]:
    groups: list[list[ReportedClaim]] = []
    for claim in claims:
        if groups and _share_axis(groups[-1], claim):
            groups[-1].append(claim)
        else:
            groups.append([claim])
    return groups


def _share_axis(group: list[ReportedClaim], claim: ReportedClaim) -> bool:
    sizes = [_reach(second) for second in (*group, claim)]
    first, second = dict(group[0]), dict(claim)
    same = all(first[key] == second[key] for key in SHARED)
    return same and max(sizes) <= ALIKE * min(sizes)


def _reach(claim: ReportedClaim) -> float:
    """Return the largest absolute value that the row of a claim must show."""
    return max(map(abs, (*(claim["interval"] or ()), claim["effect"], bound(claim)[1], 1e-12)))


def _draw_panel(axes: Axes, claims: list[ReportedClaim]) -> None:
    _draw_bound(axes, claims[0])
    for row, claim in enumerate(claims):
        _draw_row(axes, row, claim)
    name_rows(axes, [*map(_name, claims)], "contrast", ends=(0.45, 0.5))
    axes.margins(x=0.06)
    axes.locator_params(axis="x", nbins=7)  # more labels would overlap if they have many digits
    axes.set_xlabel(_axis(claims[0]))


def _axis(claim: ReportedClaim) -> str:
    which, size = bound(claim)
    return f"{effect_axis(claim)}; dashed: {which} {size:g}" if size else effect_axis(claim)


def _draw_bound(axes: Axes, claim: ReportedClaim) -> None:
    axes.axvline(0, color=INK, linewidth=0.9, zorder=1)
    _, size = bound(claim)
    if not size:
        return
    sides = KINDS[claim["kind"]].bounds(size)
    for side in sides:
        axes.axvline(side, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    if len(sides) == 2:
        axes.axvspan(*sides, color=GRID, alpha=0.3, linewidth=0)


def _draw_row(axes: Axes, row: int, claim: ReportedClaim) -> None:
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
