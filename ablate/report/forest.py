"""Draw forest plots: a row for each estimate, with its interval and its single values; and compare
the variants of a screen (a study that compares many variants with one baseline), whose rows are in
such a plot.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import arm_label, factor_label, spelled
from ablate.config.screen import BASELINE, FACTOR
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Screen
from ablate.metric.table import metric_in_words, metric_of
from ablate.phrases import grouped
from ablate.report.draw import GRID, LABEL, LINE, WIDTH, folded
from ablate.report.marks import ARM_COLOURS, INK, MARKS
from ablate.stats import at_most
from ablate.stats.means import t_quantile
from ablate.verdict.kinds import KINDS, kind_of
from ablate.verdict.types import INCONCLUSIVE, LEVEL, REFUTED, SMALL, Entry, Verdict

# the unit of a slope; an exponent has none
PER = {"linear": "per unit of", "log": "per doubling of", "log_log": ""}
ALIKE = 8  # largest ratio of the sizes of effects on one axis
BETTER, WORSE, OPEN = "better", "worse", "undecided"
NOT_WORSE = f"at most the margin {WORSE}, or {BETTER}"
NOT_BETTER = f"at most the margin {BETTER}, or {WORSE}"
# colour, marker and short name for each value of `Component.shows`
LOOKS = {
    BETTER: (MARKS["supported"].colour, "o", BETTER),
    NOT_WORSE: (ARM_COLOURS[0], "^", "not worse"),
    OPEN: (MARKS["inconclusive"].colour, "D", OPEN),
    NOT_BETTER: (ARM_COLOURS[0], "v", "not better"),
    WORSE: (MARKS["refuted"].colour, "s", WORSE),
}


class Row(NamedTuple):
    """An estimate in a forest plot.

    Args:
        name: text beside the row.
        effect: the estimate; None if only points are drawn.
        interval: ends of the interval; () without one.
        colour, marker: appearance of the estimate.
        narrow: ends of a narrower interval, which is drawn as a thick line.
        points: single values below the estimate, such as those of the seeds, with their markers.
        word: text to the right of the panel.
    """

    name: str
    effect: float | None
    interval: Sequence[float] = ()
    colour: str = INK
    marker: str = "o"
    narrow: Sequence[float] = ()
    points: Sequence[tuple[float, str]] = ()
    word: str = ""


class Panel(NamedTuple):
    """The rows of an axis, its label, and the ends of the margin; `sides` is None if the values
    are no effects, and the axis need not contain 0.
    """

    label: str
    rows: list[Row]
    sides: Sequence[float] | None = ()


def draw_forest(panels: Sequence[Panel]) -> Figure:
    """Draw panels with a row for each estimate, one panel below the other."""
    heights = []
    for panel in panels:
        names = [_folded(row.name) for row in panel.rows]
        lines = max(name.count("\n") + 1 for name in names)
        least = 0.55 if any(row.points for row in panel.rows) else 0.24
        labels = LINE * folded(panel.label, LABEL).count("\n")
        heights.append(0.75 + labels + max(least, 0.1 + LINE * lines) * len(panel.rows))
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    drawn = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    for axes, panel in zip(drawn, panels, strict=True):
        if panel.sides is not None:
            _draw_margin(axes, panel.sides)
        for place, row in enumerate(panel.rows):
            _draw_row(axes, -place, row)
        names = [_folded(row.name) for row in panel.rows]
        axes.set_yticks([-place for place in range(len(names))], names)
        axes.set_ylim(0.5 - len(panel.rows), 0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.06)
        axes.locator_params(axis="x", nbins=7)  # more labels overlap if they have many digits
        axes.set_xlabel(folded(panel.label, LABEL))
    return figure


def _folded(name: str) -> str:
    return "\n".join(map(folded, name.splitlines()))


def _draw_margin(axes: Axes, sides: Sequence[float]) -> None:
    """Draw a line at 0 and at each end of the margin, and shade the range between two ends."""
    axes.axvline(0, color=INK, linestyle="-", linewidth=0.9, zorder=1)
    for side in sides:
        axes.axvline(side, color=INK, linestyle="--", linewidth=0.9, zorder=1)
    if len(sides) == 2:
        axes.axvspan(*sides, color=GRID, alpha=0.3, linewidth=0)


def _draw_row(axes: Axes, middle: int, row: Row) -> None:
    above = middle + 0.12 * bool(row.points)
    for ends, width in ((row.interval, 1.6), (row.narrow, 4.0)):
        axes.plot(ends, [above] * len(ends), "|-", color=row.colour, linewidth=width, markersize=8)
    if row.effect is not None:
        axes.plot([row.effect], [above], row.marker, color=row.colour, markersize=6.5)
    below = np.linspace(middle - 0.12, middle - 0.28, len(row.points))
    for kind in sorted({marker for _, marker in row.points}):
        chosen = [marker == kind for _, marker in row.points]
        values = np.array([value for value, _ in row.points])[chosen]
        axes.plot(values, below[chosen], kind, ms=3.2, fillstyle="none", color=INK, alpha=0.75)
    axes.text(1.015, middle, row.word, transform=axes.get_yaxis_transform(), va="center")


def gain_row(name: str, gain: float, error: float, df: float) -> Row:
    """Return the row of a predicted gain, with its confidence interval."""
    half = -t_quantile((1 - LEVEL) / 2, df) * error
    return Row(name, gain, (gain - half, gain + half))


def panels_by_size(rows: Iterable[tuple[str, Sequence[float], Row]]) -> list[Panel]:
    """Return effects in panels: neighbours with the same label and margin share a panel if their
    effects have similar sizes.

    Args:
        rows: for each effect the label of its axis, the ends of its margin, and its row.
    """
    panels: list[Panel] = []
    for label, sides, row in rows:
        last = panels[-1] if panels else Panel("", [])
        sizes = [_size(each, sides) for each in (*last.rows, row)]
        if (last.label, last.sides) == (label, sides) and max(sizes) <= ALIKE * min(sizes):
            last.rows.append(row)
        else:
            panels.append(Panel(label, [row], sides))
    return panels


def _size(row: Row, sides: Sequence[float]) -> float:
    """Return the largest absolute value that a row must show."""
    return max(map(abs, (*row.interval, row.effect or 0.0, *sides, 1e-12)))


def draw_effects(claims: Sequence[Entry], places: Sequence[str] = ()) -> Figure:
    """Draw a row for each claim.

    Args:
        claims: the claims with their effects.
        places: a text below the name of each claim, such as its corpus; () for none.
    """
    rows = []
    for claim, place in zip(claims, places or [""] * len(claims), strict=True):
        size = claim["margin"] or claim["tolerance"]
        sides = KINDS[claim["kind"]].bounds(size) if size else ()
        dashed = (
            f"; dashed: {'margin' if claim['margin'] else 'tolerance'} {size:g}" if size else ""
        )
        label = f"{_axis(claim)}{dashed}"
        rows.append((label, sides, _row(claim, place)))
        if (predicted := claim.get("predicted")) and claim["kind"] != "equivalence":
            rows.append((label, sides, gain_row("predicted", **predicted)))
    return draw_forest(panels_by_size(rows))


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


def _row(claim: Entry, place: str) -> Row:
    mark, verdict = MARKS[claim["verdict"]], claim["verdict"]
    return Row(
        name="\n".join(line for line in (*contrast(claim), place) if line),
        effect=claim["effect"],
        interval=claim["interval"] or (),
        colour=mark.colour,
        marker=mark.marker,
        narrow=claim.get("interval_equivalence") or (),
        points=[(seed, "o") for seed in claim["differences"] if seed is not None],
        word="undecided" if verdict == INCONCLUSIVE else verdict,
    )


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


class Component(NamedTuple):
    """A variant of a screen, compared with the baseline.

    `shows` says what the verdict shows about the variant, such as `BETTER`. `effect` and
    `interval` are in units of the metric, and positive if the variant is better.
    """

    name: str
    effect: float
    interval: tuple[float, float] | None
    shows: str


def components(evidence: Evidence, verdict: Verdict) -> list[Component]:
    """Return the variants of a screen (a study that compares many variants with one baseline) that
    have an estimated effect, best first; [] for another study.
    """
    screen = evidence.study.get("screen")
    claims = [claim for claim in verdict["claims"] if screened(claim, screen)]
    rows = [_component(claim, screen) for claim in claims if screen]
    return sorted(rows, key=lambda row: -row.effect)


def screened(claim: Entry, screen: Screen | None) -> bool:
    """Return whether a claim with an effect compares a variant of a screen with the baseline by the
    metric of the screen.
    """
    compared = screen is not None and claim["metric"] == screen["metric"]
    return compared and claim["effect"] is not None and bool(_variant(claim))


def _variant(claim: Entry) -> str:
    """Return the variant that a claim compares with the baseline; "" if the claim compares other
    arms.
    """
    arms = {str(levels.get(FACTOR)) for levels in (claim["treatment"], claim["baseline"])}
    variants = arms - {BASELINE}
    return variants.pop() if len(variants) == 1 and BASELINE in arms else ""


def _component(claim: Entry, screen: Screen) -> Component:
    name, effect = _variant(claim), claim["effect"]
    assert effect is not None
    sign = 1 if claim["better"] == screen["better"] else -1
    sign *= 1 if claim["treatment"].get(FACTOR) == name else -1
    low, high = sorted(sign * end for end in claim["interval"] or (0.0, 0.0))
    return Component(
        name=name,
        effect=sign * effect,
        interval=(low, high) if claim["interval"] else None,
        shows=_shows_by_failures(claim, name) or _shows(claim, sign),
    )


def _shows_by_failures(claim: Entry, name: str) -> str:
    """Return what the verdict on a claim shows about the variant `name`, if the rates of failed
    runs decide the claim; else "". The mean over the few runs that learned may have another sign.
    """
    if not claim.get("decided_by_failures") or claim["verdict"] == INCONCLUSIVE:
        return ""
    rates = {}
    for arm in (claim["treatment"], claim["baseline"]):
        failed = claim["failed_to_learn"][arm_label(claim["where"] | arm)]
        rates[str(arm.get(FACTOR))] = failed["runs"] / failed["of"]
    return WORSE if rates[name] > rates[BASELINE] else BETTER


def _shows(claim: Entry, sign: int) -> str:
    """Return what the verdict on a claim shows about a variant, such as `BETTER`.

    Args:
        claim: the claim with its verdict; the variant may be its treatment or its baseline.
        sign: 1 if a positive effect of the claim means that the variant is better than the baseline
            of the screen, else -1.
    """
    if claim["verdict"] == INCONCLUSIVE:
        return OPEN
    if claim["verdict"] == REFUTED:
        small, excluded = claim["grade"] == SMALL, sign  # the side where no large effect can be
    else:  # a claim that nothing is lost is also supported if the gain is large
        least = min(map(abs, claim["interval"] or [0.0]))
        small = kind_of(claim).controlled and at_most(least, claim["margin"])
        excluded = -1 if claim["kind"] == "equivalence" else -sign
    if small:
        return NOT_BETTER if excluded > 0 else NOT_WORSE
    return BETTER if sign * (claim["effect"] or 0.0) > 0 else WORSE


def draw_screen(variants: Iterable[Component], screen: Screen) -> Figure:
    """Draw a row with the gain of each variant over the baseline."""
    label, margin = f"gain over the baseline, {metric_of(screen['metric']).axis}", screen["margin"]
    rows = []
    for variant in variants:
        colour, marker, word = LOOKS[variant.shows]
        ends = variant.interval or ()
        row = Row(spelled(variant.name), variant.effect, ends, colour, marker, word=word)
        rows.append((label, (-margin, margin) if margin else (), row))
    return draw_forest(panels_by_size(rows))
