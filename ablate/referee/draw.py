"""Draw the figure of a verdict: every run of every arm, and each effect beside its margin."""

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.evidence.foreign.table import Numbers
from ablate.report.draw.style import INK, folded, looks, style

if TYPE_CHECKING:
    from ablate.referee.verdict import ClaimVerdict, Verdict

# inches: height of a row, height around the panels, width of the figure
ROW, AROUND, WIDTH = 0.42, 0.9, 7.0
MOST_RUNS = 500  # largest number of runs drawn for an arm
MOST_ROWS = 30
SPREAD = 0.3  # vertical range of the runs above and below the line of their arm


def draw(verdict: "Verdict") -> Figure:
    """Return a figure with the runs of each arm on the left, and the effects with margins on the
    right.
    """
    arms = dict(
        (arm.label, arm.values)
        for claim in verdict.claims
        for arm in claim.judged.measured.arms
        if len(arm.values)
    )
    names = list(arms)[:MOST_ROWS]
    claims = verdict.claims[:MOST_ROWS]
    rows = max(len(names), len(claims), 2)
    design = verdict.question.design
    with style():
        figure = Figure(figsize=(WIDTH, AROUND + ROW * rows), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
        _draw_runs(left, {name: arms[name] for name in names})
        left.set_xlabel(design.metric)
        _draw_effects(right, claims, design.sign)
        right.set_xlabel(f"difference of {design.metric}\n({design.better} is better)")
    return figure


def _draw_runs(axes: Axes, arms: dict[str, Numbers]) -> None:
    for row, (name, look) in enumerate(looks(list(arms)).items()):
        values = arms[name][:MOST_RUNS]
        heights = np.linspace(SPREAD, -SPREAD, len(values)) - row if len(values) > 1 else [-row]
        axes.plot(values, heights, look.marker, color=look.colour, alpha=0.8, markersize=4)
        mean = float(arms[name].mean())
        axes.plot([mean, mean], [-row - 0.4, -row + 0.4], color=INK, linewidth=1.4)
    axes.set_yticks([-row for row in range(len(arms))], [folded(name) for name in arms])
    axes.set_ylim(-max(len(arms), 1) + 0.45, 0.55)
    axes.grid(axis="y", visible=False)


def _draw_effects(axes: Axes, claims: "list[ClaimVerdict]", sign: float) -> None:
    """Draw estimates and intervals of treatment minus baseline, and mark the margins.

    `sign` is -1 if a lower metric is better, so that effects are drawn as differences of the
    metric.
    """
    axes.axvline(0.0, color=INK, linewidth=0.8)
    for row, claim in enumerate(claims):
        measured = claim.judged.measured
        effect = sign * measured.effect.effect
        if math.isnan(effect):
            continue
        ends = [sign * end for end in measured.effect.interval(1 - measured.claim.alpha)]
        if all(map(math.isfinite, ends)):
            axes.plot(ends, [-row, -row], color=INK)
        axes.plot([effect], [-row], "o", color=INK)
        for margin in {measured.claim.margin, -measured.claim.margin} - {0.0}:
            axes.plot([margin, margin], [-row - 0.3, -row + 0.3], ":", color=INK)
    names = [f"{c.judged.measured.group} {c.judged.measured.claim.id}".strip() for c in claims]
    axes.set_yticks([-row for row in range(len(claims))], [folded(name) for name in names])
    axes.yaxis.tick_right()
    axes.set_ylim(-max(len(claims), 1) + 0.45, 0.55)
    axes.grid(axis="y", visible=False)
