"""Draw and write a verdict on runs that this package did not make: verdict.json, report.md
and the figure, with every run of every arm, and each effect beside its margin.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.evidence.foreign.table import Numbers
from ablate.phrases import text
from ablate.record.files import check_writable, seal, write_json, write_text
from ablate.referee.runs import Arm
from ablate.referee.wording import number
from ablate.report.draw.style import folded, looks, name_rows, style, svg
from ablate.report.marks import INK
from ablate.report.tables import Table

if TYPE_CHECKING:
    from ablate.referee.verdict import ClaimVerdict, Verdict

FIGURE = "runs_and_effects"
HEAD = ["arm", "runs", "without value", "mean", "standard deviation"]
# inches: height of a row, height around the panels, width of the figure
ROW, AROUND, WIDTH = 0.42, 0.9, 7.0
MOST_RUNS = 500  # largest number of runs drawn for an arm
MOST_ROWS = 30
SPREAD = 0.3  # vertical range of the runs above and below the line of their arm


def write(verdict: "Verdict", folder: Path) -> None:
    """Write all files of a verdict into a folder.

    Raises:
        UserError: the folder cannot be written.
    """
    check_writable(folder)
    report = "\n".join(_report(verdict)) + "\n"
    picture = svg(draw(verdict))
    write_json(folder / "verdict.json", seal(verdict.to_dict()))
    write_text(folder / "figures" / f"{FIGURE}.svg", picture)
    write_text(folder / "report.md", report)


def _report(verdict: "Verdict") -> Iterator[str]:
    design = verdict.question.design
    yield f"# {text(design.name)}\n"
    yield f"Runs: {text(verdict.runs.table.source)}. Metric: {text(design.metric)}, "
    yield f"{design.better} is better.\n"
    if len(verdict.claims) > 1:
        yield f"**{text(verdict.headline)}**\n"
    for claim in verdict.claims:
        yield from _claim(claim)
    yield f"![Every run, and the effects](figures/{FIGURE}.svg)\n"
    yield "## How far to trust this\n"
    yield from (f"- {text(sentence)}" for sentence in verdict.trust)


def _claim(claim: "ClaimVerdict") -> Iterator[str]:
    group = f", {claim.judged.group}" if claim.judged.group else ""
    yield f"## {text(f'{claim.claim.id}{group}')}\n"
    if claim.claim.statement:
        yield f"{text(claim.claim.statement)}\n"
    yield f"**{text(claim.headline)}**\n"
    yield f"{text(claim.evidence)}\n"
    if claim.judged.arms:
        yield Table(HEAD, [*map(_row, claim.judged.arms)]).markdown
    yield from (f"- {text(sentence)}" for sentence in (*claim.details, *claim.trust))
    yield ""


def _row(arm: Arm) -> list[str]:
    """Return the table row of an arm: label, runs, runs without value, mean, standard deviation."""
    numbers = arm.to_dict()
    mean, sd = numbers["mean"], numbers["sd"]
    mean_text = "-" if mean is None else number(mean, sd or 0.0)
    sd_text = "-" if sd is None else f"{sd:.3g}"
    return [arm.label, f"{arm.runs:,}", f"{arm.without:,}", mean_text, sd_text]


def draw(verdict: "Verdict") -> Figure:
    """Return a figure with the runs of each arm on the left, and the effects with margins on the
    right.
    """
    measured = [arm for claim in verdict.claims for arm in claim.judged.arms]
    arms = {arm.label: arm.values for arm in measured if len(arm.values)}
    names, claims = [*arms][:MOST_ROWS], verdict.claims[:MOST_ROWS]
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
    name_rows(axes, [folded(name) for name in arms])


def _draw_effects(axes: Axes, claims: "Sequence[ClaimVerdict]", sign: float) -> None:
    """Draw estimates and intervals of treatment minus baseline, and mark the margins.

    `sign` is -1 if a lower metric is better, so that effects are drawn as differences of the
    metric.
    """
    axes.axvline(0.0, color=INK, linewidth=0.8)
    for row, claim in enumerate(claims):
        effect = sign * claim.effect.effect
        if math.isnan(effect):
            continue
        ends = [sign * end for end in claim.effect.interval(1 - claim.claim.alpha)]
        if all(map(math.isfinite, ends)):
            axes.plot(ends, [-row, -row], color=INK)
        axes.plot([effect], [-row], "o", color=INK)
        for margin in {claim.claim.margin, -claim.claim.margin} - {0.0}:
            axes.plot([margin, margin], [-row - 0.3, -row + 0.3], ":", color=INK)
    names = [f"{c.judged.group} {c.claim.id}".strip() for c in claims]
    name_rows(axes, [folded(name) for name in names])
    axes.yaxis.tick_right()
