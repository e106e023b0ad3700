"""Choose the figures of a report, write their captions, and draw them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import fmean

from matplotlib.figure import Figure as Picture

from ablate.config.labels import arm_label, factor_label, texts_of_task
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE, by_label, value
from ablate.evidence.types import Curve, Run, Shown
from ablate.metric.table import metric_of
from ablate.phrases import listed, percent
from ablate.record.label import value_text
from ablate.report.draw import PANEL, Points, draw_curves, draw_levels, style
from ablate.report.forest import (
    Panel,
    Row,
    components,
    draw_effects,
    draw_forest,
    draw_screen,
    gain_row,
    has_effect,
    screened,
)
from ablate.report.tables import by_effect, named_metric
from ablate.verdict.stored import at_each_budget
from ablate.verdict.study_checks import LAYER
from ablate.verdict.types import LARGEST, LEVEL, Combined, Verdict

SECTIONS = ("answers", "asked", "runs", "curves")
LIMITS = ("chance", "bound")  # if they are equal, the line is named "bound"
WRONG = {"diverged": "x", "collapsed": "+"}  # markers of runs that did not finish
NORM = re.compile(r"/(encoder|decoder)\.(\d+)$")  # the end of the metric of a layer
FOREIGN = re.compile(r"[^\w.+=,-]", re.ASCII)  # characters that are replaced in file names
EFFECTS = (
    "Difference between the arms of each claim. A mark is the mean over seeds, and its line the "
    "{level} confidence interval; a thick line is the narrower interval that decides whether arms "
    "are equal. Each open circle is one seed. The claimed direction is to the right."
)
SCREEN = (
    "Gain of every variant over the baseline. Lines are {level} confidence intervals, without a "
    'correction for several variants. Colour, shape and word show the corrected answer; "not '
    'worse" is better, or worse by at most the margin.'
)
COMBINED = (
    "Gain of every change. A mark is the gain at the best learning rates, with its {level} "
    "confidence interval, not corrected for the number of changes; an open circle is the average "
    "gain over all rates. Below: the predicted gains of the best recipe, and without its largest "
    "changes."
)
LEVELS = "{caption} Each mark is a run; the lines join the {centre}."
RUNS = "All runs; the metric is {name}. Each mark below the mean is a run."
CROSSES = (
    " A cross marks a run that diverged, and a plus sign a run that collapsed, at the value that "
    "is assigned to such runs."
)
CURVES = (
    "Learning curves on validation {texts}. Lines are means over the seeds of an arm, and bands "
    "reach from the lowest to the highest seed. Arms that use the same trained models share a line."
)


@dataclass(frozen=True)
class Figure:
    """A figure of a report with its caption; it is stored as figures/<name>.svg."""

    name: str
    section: str
    caption: str
    draw: Callable[[], Picture]

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
    if result := verdict.get("combined"):  # other figures have a row for each recipe
        caption = COMBINED.format(level=_level(1 - LEVEL))
        yield Figure("combined", "answers", caption, partial(draw_forest, _combined(result)))
        yield from _asked(evidence)
        return
    answers = [*_screen(evidence, verdict), *_effects(evidence, verdict)]
    answers += [*_trends(evidence, verdict), *_asked(evidence)]
    yield from answers
    runs = list(_runs(evidence, verdict))
    several = [figure for figure, spread in runs if spread]
    yield from several or [figure for figure, _ in runs[: not answers]]
    yield from _curves(evidence)


def _level(alpha: float) -> str:
    return f"{percent(1 - alpha)}%"


def _combined(result: Combined) -> list[Panel]:
    """Return the panels of all effects of a study of combinations, and of the predicted gains."""
    axis, rows = metric_of(result["metric"]).axis, []
    for change in by_effect(result):
        if (effect := change["effect"]) is not None:
            half, average = change["half_width"], change["average"]
            ends = () if half is None else (effect - half, effect + half)
            points = () if average is None else ((average, "o"),)
            rows.append(Row(arm_label(change["level"]), effect, ends, points=points))
    return [
        Panel(f"gain, {axis}", rows),
        Panel(f"predicted gain, {axis}", expected_gains(result)),
    ]


def expected_gains(result: Combined) -> list[Row]:
    """Return the predicted gains of the best recipe, and without each of its largest changes, with
    their confidence intervals.
    """
    best = result["best"]
    rows = [gain_row("the best recipe", best["gain"], best["error"], best["df"])]
    for part in best["parts"][:LARGEST]:
        name = f"without {arm_label(part['level'])}"
        rows.append(gain_row(name, part["rest"], part["rest_error"], best["df"]))
    return rows


def _screen(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    """Yield the figure of a screen, that is, of a study that compares many variants with one
    baseline; yield nothing for another study.
    """
    variants, screen = components(evidence, verdict), evidence.study.get("screen")
    if variants and screen:
        caption = SCREEN.format(level=_level(screen["alpha"]))
        draw = partial(draw_screen, variants, screen)
        yield Figure("components", "answers", caption, draw)


def _effects(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    """Yield a figure of the claims that the figure of a screen does not show, if there are any."""
    screen = evidence.study.get("screen")
    unscreened = [claim for claim in verdict["claims"] if not screened(claim, screen)]
    claims = [claim for claim in at_each_budget(unscreened) if has_effect(claim)]
    levels = dict.fromkeys(_level(claim["alpha"]) for claim in claims)
    if claims:
        caption = EFFECTS.format(level=listed([*levels]))
        yield Figure("effects", "answers", caption, partial(draw_effects, claims))


def _trends(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    # the effect of a trend with `minus` is a difference of slopes, which no single line has
    asked = (claim for claim in verdict["claims"] if not claim["minus"])
    trends = [claim for claim in asked if claim["kind"] == "trend"]
    for number, claim in enumerate(trends, start=1):
        metric, over = claim["metric"], claim["over"]
        caption = f"{named_metric(evidence, metric).named} by {factor_label(over)}."
        question = Shown(metric=metric, over=over, where=claim["where"], caption=caption)
        yield from _over_levels(evidence, question, f"trend-{number}", "answers")


def _asked(evidence: Evidence) -> Iterator[Figure]:
    """Yield the figures that the study asks for."""
    for number, figure in enumerate(evidence.study.get("figures", []), start=1):
        over = _over_layers if figure["over"] == LAYER else _over_levels
        yield from over(evidence, figure, f"levels-{number}", "asked")


def _over_levels(evidence: Evidence, asked: Shown, name: str, section: str) -> Iterator[Figure]:
    metric, over = asked["metric"], asked["over"]
    runs, points = _where(evidence, asked), Points()
    for run in runs:
        if (score := _measured(run, metric)) is not None:
            rest = {k: v for k, v in run["levels"].items() if k not in (over, *asked["where"])}
            level = run["levels"][over]
            key = value_text(level) if isinstance(level, list | dict) else level
            points.setdefault(arm_label(rest), {}).setdefault(key, []).append(score)
    if points:
        label = named_metric(evidence, metric).axis
        draw = partial(draw_levels, label, over, points, _limits(metric, runs))
        caption = LEVELS.format(caption=asked["caption"], centre="means")
        yield Figure(name, section, caption, draw)


def _where(evidence: Evidence, asked: Shown) -> list[Run]:
    return [run for run in evidence.runs if asked["where"].items() <= run["levels"].items()]


def _measured(run: Run, metric: str) -> float | None:
    """Return the value of a metric for a run; None if the run failed or the value is missing."""
    try:
        return None if run["status"] == "failed" else value(run, metric)
    except KeyError:
        return None


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


def _over_layers(evidence: Evidence, asked: Shown, name: str, section: str) -> Iterator[Figure]:
    """Yield a figure of the gradient norms of all layers of each stack; norms of 0 are left out."""
    stacks: dict[str, Points] = {}
    for arm, runs in by_label(_where(evidence, asked)).items():
        for key, norm in ((key, norm) for run in runs for key, norm in run["metrics"].items()):
            if key.startswith(f"{asked['metric']}/") and (layer := NORM.search(key)) and norm:
                line = stacks.setdefault(layer[1], {}).setdefault(arm, {})
                line.setdefault(int(layer[2]), []).append(norm)
    label = f"gradient norm, {asked['metric'].rpartition('/')[2]} step (L2)"
    caption = LEVELS.format(caption=asked["caption"], centre="medians")
    for stack, points in stacks.items():
        draw = partial(draw_levels, label, f"{stack} layer", points, {}, log=True)
        yield Figure(f"{name}-{stack}", section, f"{stack.capitalize()}: {caption}", draw)


def _runs(evidence: Evidence, verdict: Verdict) -> Iterator[tuple[Figure, bool]]:
    """Yield a figure of all runs for every metric, and whether runs of an arm differ in the
    metric.
    """
    asked = [claim["metric"] for claim in verdict["claims"] if claim["kind"] != "trend"]
    for metric in dict.fromkeys([*asked, "test/bleu"]):
        if metric in UNSTABLE or all(run["metrics"].get(metric) is None for run in evidence.runs):
            continue
        rows = []
        for arm, runs in by_label(evidence.runs).items():
            values = [(_measured(run, metric), WRONG.get(run["status"], "o")) for run in runs]
            points = [(x, marker) for x, marker in values if x is not None]
            mean = fmean(x for x, _ in points) if len(points) > 1 else None
            rows.append(Row(arm, mean, marker="|", points=points))
        named = named_metric(evidence, metric)
        crosses = any(marker != "o" for row in rows for _, marker in row.points)
        caption = RUNS.format(name=named.name) + CROSSES * crosses
        draw = partial(draw_forest, [Panel(named.axis, rows, None)])
        spread = any(len({x for x, _ in row.points}) > 1 for row in rows)
        yield Figure(f"runs-{FOREIGN.sub('-', metric)}", "runs", caption, draw), spread


def _curves(evidence: Evidence) -> Iterator[Figure]:
    curves: dict[str, dict[int, Curve]] = {}
    for arm, runs in by_label(evidence.runs).items():
        by_seed = {run["seed"]: run["curve"] for run in runs if run["curve"]}
        if by_seed and by_seed not in curves.values():
            curves[arm] = by_seed
    texts = texts_of_task(evidence.registration.get("components", {}))
    if curves:
        draw = partial(draw_curves, curves)
        section = "answers" if len(curves) <= PANEL else "curves"  # several panels fill a page
        yield Figure("curves", section, CURVES.format(texts=texts), draw)
