"""Draw the forest plot of claims: a row for each claim, with its effect, its interval and the
difference of every seed.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import arm_label, factor_label
from ablate.metric.table import metric_in_words
from ablate.phrases import grouped
from ablate.report.draw.style import LABEL, LINE, WIDTH, draw_margin, folded, name_rows
from ablate.report.marks import INK, MARKS
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import INCONCLUSIVE, Entry

# the unit of a slope; an exponent has none
PER = {"linear": "per unit of", "log": "per doubling of", "log_log": ""}
# fields that must be equal for claims on one axis
SHARED = ("metric", "kind", "margin", "tolerance", "better", "over", "scale")
ALIKE = 8  # largest ratio of the sizes of effects on one axis
Row = tuple[Entry, str]  # a claim, and the name of its row


def has_effect(claim: Entry) -> bool:
    """Return whether a claim compares arms and has an estimated effect."""
    compared = claim["kind"] == "trend" or bool(claim["treatment"])
    return compared and claim["effect"] is not None


def contrast(claim: Entry) -> list[str]:
    """Return the arms that a claim compares, in short lines: `Pre-LN`, `against Post-LN`, `with no
    warm-up`.
    """
    lines = [f"slope over {factor_label(claim['over'])}"] if claim["kind"] == "trend" else []
    if claim["treatment"]:
        other = f"{claim['target']:g}" if "target" in claim else arm_label(claim["baseline"])
        lines = [arm_label(claim["treatment"]), f"against {other}"]
    lines += [f"with {arm_label(claim['where'])}"] if claim["where"] else []
    if claim.get("predicted") and claim["kind"] == "equivalence":
        lines += ["minus the predicted gain"]
    lines += [f"after {grouped(claim['steps'])} steps"] if "steps" in claim else []
    return lines + ([f"more than with {arm_label(claim['minus'])}"] if claim["minus"] else [])


def draw_effects(claims: Sequence[Entry], places: Sequence[str] = ()) -> Figure:
    """Draw a row for each claim; claims with the same metric and margin share an axis if their
    effects have similar sizes.

    Args:
        claims: the claims with their effects.
        places: a text below the name of each claim, such as its corpus; () for none.
    """
    groups: list[list[Row]] = []
    for claim, place in zip(claims, places or [""] * len(claims), strict=True):
        name = "\n".join(folded(line) for line in (*contrast(claim), place) if line)
        if groups and _share_axis([drawn for drawn, _ in groups[-1]], claim):
            groups[-1].append((claim, name))
        else:
            groups.append([(claim, name)])
    lines = [max(name.count("\n") + 1 for _, name in group) for group in groups]
    rows = [max(0.62, 0.14 + LINE * most) for most in lines]
    labels = [_label(group[0][0]) for group in groups]
    heights = [
        0.75 + LINE * label.count("\n") + row * len(group)
        for label, row, group in zip(labels, rows, groups, strict=True)
    ]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    panels = figure.subplots(len(groups), squeeze=False, height_ratios=heights)[:, 0]
    for axes, group, label in zip(panels, groups, labels, strict=True):
        _draw_panel(axes, group)
        axes.set_xlabel(label)
    return figure


def _share_axis(group: list[Entry], claim: Entry) -> bool:
    sizes = [_reach(other) for other in (*group, claim)]
    first, second = dict(group[0]), dict(claim)
    same = all(first[key] == second[key] for key in SHARED)
    return same and max(sizes) <= ALIKE * min(sizes)


def _reach(claim: Entry) -> float:
    """Return the largest absolute value that the row of a claim must show."""
    return max(map(abs, (*(claim["interval"] or ()), claim["effect"], _bound(claim), 1e-12)))


def _bound(claim: Entry) -> float:
    """Return the number with which an effect is compared: the margin or the tolerance."""
    return claim["margin"] or claim["tolerance"]


def _draw_panel(axes: Axes, rows: list[Row]) -> None:
    claim, _ = rows[0]
    size = _bound(claim)
    draw_margin(axes, KINDS[claim["kind"]].bounds(size) if size else ())
    for row, (claim, _) in enumerate(rows):
        _draw_claim(axes, -row, claim)
    name_rows(axes, [name for _, name in rows])
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.06)
    axes.locator_params(axis="x", nbins=7)  # more labels would overlap if they have many digits


def _label(claim: Entry) -> str:
    """Return the label of an axis of effects: metric, unit and margin."""
    label, size = _axis(claim), _bound(claim)
    if size:
        label += f"; dashed: {'margin' if claim['margin'] else 'tolerance'} {size:g}"
    return folded(label, LABEL)


def _axis(claim: Entry) -> str:
    """Return the label, with the unit, of the axis on which the effect of a claim is drawn."""
    metric = metric_in_words(claim["metric"], claim.get("measures"))
    rises = claim["better"] == "higher"
    if claim["kind"] == "trend":
        per, over = PER[claim["scale"]], factor_label(claim["over"])
        if not per:
            return f"exponent of {metric.name} over {over}{'' if rises else ', sign turned'}"
        return f"{'rise' if rises else 'fall'} of {metric.axis} {per} {over}"
    # this metric is a difference already, or the value of a single arm is drawn
    if claim["metric"].endswith("changed") or not claim["treatment"]:
        return metric.axis
    falls = not rises and claim["kind"] != "exact"  # a gain is then a fall
    return f"{'fall of' if falls else 'difference in'} {metric.axis}"


def _draw_claim(axes: Axes, middle: int, claim: Entry) -> None:
    above, mark = middle + 0.12, MARKS[claim["verdict"]]
    seeds = [difference for difference in claim["differences"] if difference is not None]
    below = np.linspace(middle - 0.12, middle - 0.28, max(1, len(seeds)))[: len(seeds)]
    axes.plot(seeds, below, "o", markersize=3.2, markerfacecolor="none", color=INK, alpha=0.75)
    for ends, width in ((claim["interval"], 1.6), (claim.get("interval_equivalence"), 4.0)):
        if ends:
            axes.plot(ends, [above] * 2, "|-", color=mark.colour, linewidth=width, markersize=8)
    axes.plot([claim["effect"] or 0.0], [above], mark.marker, color=mark.colour, markersize=6.5)
    word = "undecided" if claim["verdict"] == INCONCLUSIVE else claim["verdict"]
    beside = axes.get_yaxis_transform()
    axes.text(1.015, middle, word, transform=beside, va="center", fontweight="bold")
