"""Choose the figures of a report, write their captions, and draw them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from matplotlib.figure import Figure as Picture

from ablate.config.labels import factor_label, texts_of_task
from ablate.evidence.folder import Evidence
from ablate.evidence.table import by_label
from ablate.evidence.types import Run, Shown, Verdict
from ablate.metric.table import metric_of
from ablate.phrases import listed, percent
from ablate.report.combined import expected, reached
from ablate.report.draw.combined import draw_changes, draw_expected
from ablate.report.draw.curves import draw_curves
from ablate.report.draw.lines import (
    Points,
    draw_levels,
    line_of,
    place_of,
)
from ablate.report.draw.rows import (
    Point,
    draw_components,
    draw_effects,
    draw_runs,
    far_rows,
)
from ablate.report.draw.style import style
from ablate.report.selection import components, has_effect, measured, named_metric, shown
from ablate.report.tables import by_effect
from ablate.verdict.combined import LEVEL
from ablate.verdict.decision import at_each_budget, is_exact
from ablate.verdict.study_checks import LAYER

SECTIONS = ("effects", "runs", "curves")
LIMITS = ("chance", "bound")  # if they are equal, the line is named "bound"
STACKS = ("encoder", "decoder")
FOREIGN = re.compile(r"[^\w.+=,-]", re.ASCII)  # characters that are replaced in file names
MARKS = "Each mark is a run; the lines join the {centre}."
Dots = dict[str, list[Point]]  # seed, value and status of each run of an arm
Draw = Callable[[], Picture]


@dataclass(frozen=True)
class Figure:
    """A figure of a report with its caption; it is stored as figures/<name>.svg."""

    name: str
    section: str
    caption: str
    draw: Draw

    @cached_property
    def picture(self) -> Picture:
        """The matplotlib figure, drawn on first use, because drawing takes most of the time of a
        report.
        """
        with style():
            return self.draw()

    @property
    def alt(self) -> str:
        """The alternative text for screen readers: the first sentence of the caption."""
        return self.caption.partition(". ")[0].rstrip(".")


def figures(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    """Yield the figures for which there are data, first the figures about the claims.

    A figure of all runs is left out if the runs of each arm have equal values. If there would be
    no figure of claims or runs, the first figure of runs is yielded.
    """
    answers = [*_combinations(verdict), *_screen(evidence, verdict), *_asked(evidence)]
    if "combined" in verdict:  # other figures have a row for each recipe
        yield from answers
        return
    answers += _effects(evidence, verdict)
    answers += _trends(evidence, verdict)
    yield from answers
    runs = list(_runs(evidence, verdict))
    several = [figure for figure, spread in runs if spread]
    yield from several or [figure for figure, _ in runs[: not answers]]
    yield from _curves(evidence)


def _combinations(verdict: Verdict) -> Iterator[Figure]:
    """Yield the figure of all effects of a study of combinations, or the figure of the gains that
    such a study predicted; yield nothing for another study.
    """
    level = f"{percent(LEVEL)}% confidence interval"
    if result := verdict.get("combined"):
        caption = (
            "Gain of every change against the first level of its factor, the best at the top. The "
            f"mark is the gain at the best learning rates, and its line the {level}, not corrected "
            "for the number of changes. The open circle is the average gain over all learning "
            "rates. Below: the predicted gains of the best recipe and of the best recipe without "
            "each of its largest changes"
        )
        axis = metric_of(result["metric"]).axis
        draw = partial(draw_changes, by_effect(result), expected(result), axis)
        yield Figure("combined", "effects", f"{caption}.", draw)
    elif rows := reached(verdict):
        caption = (
            "Predicted and reached gains. The open circle is the gain that the study of "
            f"combinations predicts, and the mark is the reached gain; lines are the {level}."
        )
        axis = metric_of(verdict["claims"][0]["metric"]).axis
        yield Figure("prediction", "effects", caption, partial(draw_expected, rows, axis))


def _screen(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    """Yield the figure of a screen, that is, of a study that compares many variants with one
    baseline; yield nothing for another study.
    """
    rows, screen = components(evidence, verdict), evidence.study.get("screen")
    if not rows or not screen:
        return
    caption = (
        "Every variant against the baseline, the best at the top. A mark is the mean gain and its "
        f"line the {percent(1 - screen['alpha'])}% confidence interval, not corrected for the "
        "number of variants. Colour and shape show the answer, which is corrected"
    )
    if screen["margin"]:
        caption += ". In the shaded band differences are too small to matter"
    if far_rows(rows, screen["margin"]):
        caption += ". An arrow with a number marks a mean gain outside of the axis"
    if any(cost is not None for row in rows for cost in row.costs):
        caption += (
            ". Time is the processor time per token of forward and backward pass, in the fastest "
            "run of a variant; memory is that of the activations saved for the backward pass"
        )
    axis = metric_of(screen["metric"]).axis
    draw = partial(draw_components, rows, axis, screen["margin"])
    yield Figure("components", "effects", f"{caption}.", draw)


def _asked(evidence: Evidence) -> Iterator[Figure]:
    for number, figure in enumerate(evidence.study.get("figures", []), start=1):
        runs = [run for run in evidence.runs if figure["where"].items() <= run["levels"].items()]
        name, caption = f"levels-{number}", figure["caption"]
        if figure["over"] == LAYER:
            yield from _over_layers(figure["metric"], runs, name, caption)
        elif draw := _over_levels(evidence, figure, runs):
            yield Figure(name, "effects", f"{caption} {MARKS.format(centre='means')}", draw)


def _over_levels(evidence: Evidence, figure: Shown, runs: list[Run]) -> Draw | None:
    points: Points = {}
    for run in runs:
        if (value := measured(run, figure["metric"])) is not None:
            line = points.setdefault(line_of(run["levels"], figure["over"], figure["where"]), {})
            line.setdefault(place_of(run["levels"][figure["over"]]), []).append(value)
    limits = _limits(figure["metric"], runs)
    label = named_metric(evidence, figure["metric"]).axis
    return partial(draw_levels, label, figure["over"], points, limits) if points else None


def _limits(metric: str, runs: list[Run]) -> dict[str, float]:
    """Return reference values of a metric, which figures draw as horizontal lines: "chance", the
    score without learning, and "bound", the best possible score.

    A value is left out if the corpus does not state it, or if the runs do not share it.
    """
    if "chance" in metric_of(metric).unit:
        return {"chance": 0.0, "bound": 1.0}
    leaf = metric.rpartition("/")[2]
    values = {name: {run["metrics"].get(f"{name}/{leaf}") for run in runs} for name in LIMITS}
    shared = {name: each.pop() for name, each in values.items() if len(each) == 1}
    by_value = {value: name for name, value in shared.items() if value is not None}
    return {name: value for value, name in by_value.items()}


def _over_layers(metric: str, runs: list[Run], name: str, caption: str) -> Iterator[Figure]:
    """Yield a figure of the gradient norms of all layers for each stack that has gradients."""
    text = f"{caption} {MARKS.format(centre='medians')}"
    for stack in STACKS:
        points = _norms(runs, f"{metric}/{stack}.")
        if points:
            label = f"gradient norm, {metric.rpartition('/')[2]} step (L2)"
            draw = partial(draw_levels, label, f"{stack} layer", points, {}, log=True)
            yield Figure(f"{name}-{stack}", "effects", f"{stack.capitalize()}: {text}", draw)


def _effects(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    with_effects = [claim for claim in at_each_budget(verdict["claims"]) if has_effect(claim)]
    if not with_effects:
        return
    alphas = dict.fromkeys(claim["alpha"] for claim in with_effects)
    levels = listed([f"{percent(1 - alpha)}%" for alpha in alphas])
    caption = (
        "Estimated difference between the arms of each claim. A filled mark is the mean over "
        f"seeds, and its line the {levels} confidence interval. Each open circle is one seed."
    )
    directed = [claim["kind"] not in ("equivalence", "exact") for claim in with_effects]
    if any(directed):
        subject = "The" if all(directed) else "If a claim has a direction, the"
        caption += f" {subject} claimed direction is to the right of 0."
    if any(claim.get("interval_equivalence") for claim in with_effects):
        caption += " The thick part is the narrower interval that decides whether arms are equal."
    if any(is_exact(claim) for claim in with_effects):
        caption += " For a claim that must hold in every case, the mark is the value that decides."
    if any(claim["margin"] for claim in with_effects):
        caption += " Dashed lines mark the margin, the smallest difference that matters."
    yield Figure("effects", "effects", caption, partial(draw_effects, with_effects))


def _trends(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    # the effect of a trend with `minus` is a difference of slopes, which no single line has
    asked = (claim for claim in verdict["claims"] if not claim["minus"])
    trends = [claim for claim in asked if claim["kind"] == "trend"]
    for number, claim in enumerate(trends, start=1):
        named = named_metric(evidence, claim["metric"]).named
        caption = f"{named} against the {_number_of(claim['over'])}. {MARKS.format(centre='means')}"
        shown_as = Shown(
            metric=claim["metric"], over=claim["over"], where=claim["where"], caption=caption
        )
        runs = [run for run in evidence.runs if claim["where"].items() <= run["levels"].items()]
        if draw := _over_levels(evidence, shown_as, runs):
            yield Figure(f"trend-{number}", "effects", caption, draw)


def _number_of(factor: str) -> str:
    """Return the name of a numeric factor in a sentence: "number of heads", "head width"."""
    label = factor_label(factor)
    return f"number of {label}" if label.endswith("s") else label


def _runs(evidence: Evidence, verdict: Verdict) -> Iterator[tuple[Figure, bool]]:
    """Yield a figure of all runs for every metric, and whether runs of an arm differ in the
    metric.
    """
    for metric in shown(evidence, verdict):
        points: Dots = {}
        for arm, run in _labelled(evidence.runs):
            in_arm = points.setdefault(arm, [])
            if (y := measured(run, metric)) is not None:
                in_arm.append((run["seed"], y, run["status"]))
        means = {
            arm["label"]: arm["metrics"][metric]["mean"]
            for arm in verdict["arms"]
            if metric in arm["metrics"]
        }
        named = named_metric(evidence, metric)
        caption = f"All runs; the metric is {named.name}.{_how(points)}"
        draw = partial(draw_runs, named.axis, points, means)
        name = f"runs-{FOREIGN.sub('-', metric)}"
        spread = any(len({value for _, value, _ in arm}) > 1 for arm in points.values())
        yield Figure(name, "runs", caption, draw), spread


def _how(points: Dots) -> str:
    """Return sentences that explain the marks in a figure of runs."""
    wrong = {status for arm in points.values() for _, _, status in arm} - {"finished"}
    several = any(len(arm) > 1 for arm in points.values())
    text = " Each mark is a run; the line is the mean." if several else ""
    if wrong:
        text += (
            " A cross marks a run that diverged, and a plus sign a run that collapsed; they are "
            "drawn at the value that is assigned to such runs."
        )
    return text


def _curves(evidence: Evidence) -> Iterator[Figure]:
    arms = _trainings(evidence)
    curves = {arm: [run["curve"] for run in runs if run["curve"]] for arm, runs in arms.items()}
    if not any(curves.values()):
        return
    hidden = len(by_label(evidence.runs)) > len(arms)
    once = " Arms that use the same trained models share one line." if hidden else ""
    texts = texts_of_task(evidence.registration.get("components", {}))
    caption = (
        f"Learning curves on validation {texts}. Each line is the mean over the seeds of an arm, "
        f"and its band reaches from the lowest to the highest seed.{once}"
    )
    yield Figure("curves", "curves", caption, partial(draw_curves, curves))


def _trainings(evidence: Evidence) -> dict[str, list[Run]]:
    """Return the runs of every arm. If several arms share their training (and differ only in
    testing), only the first of these arms is returned.
    """
    shown: dict[str, list[Run]] = {}
    seen: list[dict[int, Any]] = []
    for arm, runs in by_label(evidence.runs).items():
        curves = {run["seed"]: run["curve"] for run in runs}
        if curves not in seen:
            shown[arm] = runs
        if any(curves.values()):  # arms without curves do not share their training
            seen.append(curves)
    return shown


def _norms(runs: list[Run], prefix: str) -> Points:
    """Return the gradient norms of all seeds by arm and layer number; norms of 0 are left out.

    `prefix` is the start of the metric keys, before the number of the layer.
    """
    by_arm: Points = {}
    for arm, run in _labelled(runs):
        for key, norm in run["metrics"].items():
            if key.startswith(prefix) and norm:
                layer = int(key.removeprefix(prefix))
                by_arm.setdefault(arm, {}).setdefault(layer, []).append(norm)
    return by_arm


def _labelled(runs: list[Run]) -> Iterator[tuple[str, Run]]:
    """Yield each run with the label of its arm; the runs of an arm follow each other."""
    return ((arm, run) for arm, members in by_label(runs).items() for run in members)
