"""Choose the figures of a report, write their captions, and draw them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from matplotlib.figure import Figure as Picture

from ablate.config.labels import arm_label, factor_label, texts_of_task
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE, by_label
from ablate.evidence.types import Curve, Run, Shown
from ablate.metric.table import metric_of
from ablate.phrases import listed, percent
from ablate.record.label import value_text
from ablate.report.combined import expected, reached
from ablate.report.draw.combined import draw_changes, draw_expected
from ablate.report.draw.forest import draw_effects, has_effect
from ablate.report.draw.lines import Points, draw_curves, draw_levels, draw_runs
from ablate.report.draw.screen import components, draw_components, screened
from ablate.report.draw.style import style
from ablate.report.tables import by_effect, measured, named_metric
from ablate.verdict.designs import LEVEL
from ablate.verdict.stored import at_each_budget
from ablate.verdict.study_checks import LAYER
from ablate.verdict.types import Verdict

SECTIONS = ("answers", "asked", "runs", "curves")
LIMITS = ("chance", "bound")  # if they are equal, the line is named "bound"
NORM = re.compile(r"/(encoder|decoder)\.(\d+)$")  # the end of the metric of a layer
FOREIGN = re.compile(r"[^\w.+=,-]", re.ASCII)  # characters that are replaced in file names
MARKS = "Each mark is a run; the lines join the {centre}."


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
    yield from _combinations(verdict)
    if "combined" in verdict:  # other figures have a row for each recipe
        yield from _asked(evidence)
        return
    answers = [*_screen(evidence, verdict), *_effects(evidence, verdict)]
    answers += [*_trends(evidence, verdict), *_asked(evidence)]
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
        yield Figure("combined", "answers", f"{caption}.", draw)
    elif rows := reached(verdict):
        caption = (
            "Predicted and reached gains. The open circle is the gain that the study of "
            f"combinations predicts, and the mark is the reached gain; lines are the {level}."
        )
        axis = metric_of(verdict["claims"][0]["metric"]).axis
        yield Figure("prediction", "answers", caption, partial(draw_expected, rows, axis))


def _screen(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    """Yield the figure of a screen, that is, of a study that compares many variants with one
    baseline; yield nothing for another study.
    """
    rows, screen = components(evidence, verdict), evidence.study.get("screen")
    if rows and screen:
        caption = (
            "Every variant against the baseline, the best at the top. A mark is the mean gain and "
            f"its line the {percent(1 - screen['alpha'])}% confidence interval, not corrected for "
            "the number of variants. Colour and shape show the answer, which is corrected. Between "
            "the dashed lines differences are too small to matter. A number in place of a mark is "
            "a gain outside of the axis. Time is the processor time per token of forward and "
            "backward pass, in the fastest run of a variant; memory is that of the activations "
            "saved for the backward pass."
        )
        draw = partial(draw_components, rows, metric_of(screen["metric"]).axis, screen["margin"])
        yield Figure("components", "answers", caption, draw)


def _effects(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    """Yield the figure with the effects of all claims that the figure of a screen does not show."""
    screen = evidence.study.get("screen")
    unscreened = [claim for claim in verdict["claims"] if not screened(claim, screen)]
    claims = [claim for claim in at_each_budget(unscreened) if has_effect(claim)]
    levels = dict.fromkeys(f"{percent(1 - claim['alpha'])}%" for claim in claims)
    caption = (
        "Estimated difference between the arms of each claim. A filled mark is the mean over "
        f"seeds, and its line the {listed([*levels])} confidence interval; the thick part of a "
        "line is the narrower interval that decides whether arms are equal. Each open circle is "
        "one seed. If a claim has a direction, the claimed direction is to the right of 0."
    )
    if claims:
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
        if (value := measured(run, metric)) is not None:
            rest = {k: v for k, v in run["levels"].items() if k not in (over, *asked["where"])}
            level = run["levels"][over]
            key = value_text(level) if isinstance(level, list | dict) else level
            points.setdefault(arm_label(rest), {}).setdefault(key, []).append(value)
    if points:
        label = named_metric(evidence, metric).axis
        draw = partial(draw_levels, label, over, points, _limits(metric, runs))
        yield Figure(name, section, f"{asked['caption']} {MARKS.format(centre='means')}", draw)


def _where(evidence: Evidence, asked: Shown) -> list[Run]:
    return [run for run in evidence.runs if asked["where"].items() <= run["levels"].items()]


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
    caption = f"{asked['caption']} {MARKS.format(centre='medians')}"
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
        points = {
            arm: [
                (run["seed"], value, run["status"])
                for run in runs
                if (value := measured(run, metric)) is not None
            ]
            for arm, runs in by_label(evidence.runs).items()
        }
        named = named_metric(evidence, metric)
        caption = f"All runs; the metric is {named.name}. Each mark is a run; the line is the mean."
        if any(status != "finished" for runs in points.values() for *_, status in runs):
            caption += (
                " A cross marks a run that diverged, and a plus sign a run that collapsed; they "
                "are drawn at the value that is assigned to such runs."
            )
        spread = any(len({value for _, value, _ in runs}) > 1 for runs in points.values())
        draw = partial(draw_runs, named.axis, points)
        yield Figure(f"runs-{FOREIGN.sub('-', metric)}", "runs", caption, draw), spread


def _curves(evidence: Evidence) -> Iterator[Figure]:
    curves: dict[str, dict[int, Curve]] = {}
    for arm, runs in by_label(evidence.runs).items():
        by_seed = {run["seed"]: run["curve"] for run in runs if run["curve"]}
        if by_seed and by_seed not in curves.values():
            curves[arm] = by_seed
    texts = texts_of_task(evidence.registration.get("components", {}))
    caption = (
        f"Learning curves on validation {texts}. Each line is the mean over the seeds of an arm, "
        "and its band reaches from the lowest to the highest seed. Arms that use the same trained "
        "models share one line."
    )
    if curves:
        yield Figure("curves", "curves", caption, partial(draw_curves, curves))
