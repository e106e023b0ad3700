"""Write the files of a report: verdict.json, report.md, figures/*.svg; and its tables
for a paper, each as Markdown, LaTeX (booktabs) and CSV. The figures are chosen here, too.

The same evidence gives the same bytes, so a committed report can be checked by writing it again.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure as Picture
from pandas import DataFrame

from ablate.config.labels import (
    arm_label,
    experiment_title,
    factor_label,
    option_name,
    texts_of_task,
)
from ablate.config.screen import BASELINE, FACTOR
from ablate.config.study import Levels, Screen, Shown
from ablate.errors import track
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE, Curve, Run, by_label, value
from ablate.metric import metric_of
from ablate.phrases import code, grouped, interpretation, listed, percent, text
from ablate.record.files import finite, seal, write_json, write_text
from ablate.record.results import value_text
from ablate.report import content, draw
from ablate.verdict.conclude import LAYER, conclude
from ablate.verdict.kinds import KINDS
from ablate.verdict.stored import RULE, Replication, asked_again, at_each_budget, read_contest
from ablate.verdict.types import LARGEST, LEVEL, Combined, Entry, Verdict
from ablate.words import answer, reasons

DIGITS = 10
LATEX = str.maketrans({"±": r"$\pm$", "<": "$<$", ">": "$>$", "²": "$^2$", "×": r"$\times$"})
MINUS = re.compile(r"(?<![\w$.])-(?=\d)")
TEMPLATES = Environment(
    loader=PackageLoader("ablate.report"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # Markdown is escaped by `text` and `code`
)
TEMPLATES.filters |= {"text": text, "code": code, "grouped": grouped, "table": content.markdown}
TEMPLATES.globals |= {"content": content, "words": answer, "reasons": reasons}
TEMPLATES.globals |= {"title_of": experiment_title, "kinds": KINDS, "rule_of_fresh_seeds": RULE}
NORM = re.compile(r"/(encoder|decoder)\.(\d+)$")  # the end of the metric of a layer
FOREIGN = re.compile(r"[^\w.+=,-]", re.ASCII)  # characters that are replaced in file names
EFFECTS = (
    "Difference between the arms of each claim. A mark is the mean over seeds, and its line the "
    "{level}% confidence interval (longer on the side of outlying seeds); a thick line decides "
    "whether arms are equal. Each open circle is one seed. The claim points to the right."
)
GAINS = (
    "Gain of every variant over the baseline; scales differ. A mark is the mean over seeds, with "
    "its {level}% confidence interval, uncorrected for the number of variants. Dashed: the margin."
)
COMBINED = (
    "Gain of every change. A mark is the gain at the best learning rates, with its {level}% "
    "confidence interval, not corrected for the number of changes. Below: the predicted gains of "
    "the best recipe, and without its largest changes."
)
LEVELS = "{caption} Each mark is a run; the lines join the {centre}."
RUNS = (
    "All runs; the metric is {name}. Each mark below the mean is a run. A cross is a run that "
    "diverged or collapsed, at the value that is assigned to such runs."
)
CURVES = (
    "Learning curves on validation {texts}. Lines are means over the seeds of an arm, and bands "
    "reach from the lowest to the highest seed. Arms that use the same trained models share a line."
)


class Figure(NamedTuple):
    """A figure of a report with its caption; it is stored as figures/<name>.svg."""

    name: str
    section: str
    caption: str
    draw: Callable[[], Picture]

    @property
    def picture(self) -> Picture:
        """The drawn matplotlib figure."""
        with draw.style():
            return self.draw()


def write_report(evidence: Evidence, folder: Path, verdict: Verdict | None = None) -> Verdict:
    """Write the verdict, the figures and the report into a folder; return the content of
    verdict.json without the digest that seals the file.

    Replications are read from contest.json in the folder. Figures of an earlier report are deleted.

    Args:
        evidence: runs and study of the experiment.
        folder: target folder, which is created.
        verdict: the verdict on the claims, if they are judged already.

    Raises:
        UserError: the folder's contest.json is damaged.
    """
    # the report shows exactly the numbers of verdict.json
    # further digits differ between CPUs
    judged = finite(verdict or conclude(evidence))
    verdict = answer.with_words(json.loads(json.dumps(judged), parse_float=_rounded))
    drawn = list(figures(evidence, verdict))
    counted = track(drawn, "drawing figures", len(drawn))
    pictures = {figure.name: draw.svg(figure.picture) for figure in counted}
    report = markdown(evidence, verdict, drawn, read_contest(folder))
    write_json(folder / "verdict.json", seal(verdict))
    write_text(folder / "report.md", report)
    for name, picture in pictures.items():
        write_text(folder / "figures" / f"{name}.svg", picture)
    for path in (folder / "figures").glob("*.svg"):
        if path.stem not in pictures:
            path.unlink()
    return verdict


def markdown(
    evidence: Evidence,
    verdict: Verdict,
    drawn: Sequence[Figure] = (),
    contest: Sequence[Replication] = (),
) -> str:
    """Return the report as Markdown.

    Args:
        evidence: runs and study of the experiment.
        verdict: the verdict on the claims.
        drawn: the figures of the report.
        contest: replications of the experiment with new seeds.
    """
    claims = verdict["claims"]
    written = TEMPLATES.get_template("report.md.j2").render(
        evidence=evidence,
        verdict=verdict,
        answers=[
            (claim, title, interpretation(claim, claims), asked_again(claim, contest))
            for claim, title in zip(claims, content.titles(claims), strict=True)
        ],
        figures={name: [f for f in drawn if f.section == name] for name in ("answers", "runs")},
    )
    return re.sub(r"\n{3,}", "\n\n", written).strip() + "\n"


def _rounded(number: str) -> float:
    return float(f"{float(number):.{DIGITS}g}")


def write_tables(evidence: Evidence, verdict: Verdict, folder: Path) -> None:
    """Write every table that compares claims or arms, with the line for citing the report.

    Args:
        evidence: runs and study of the experiment.
        verdict: the verdict on its claims.
        folder: target folder, which is created.
    """
    cited = reasons.citation(verdict)
    for name, table in content.comparison_tables(evidence, verdict).items():
        write_text(folder / f"{name}.md", f"{content.markdown(table)}\nSource: {text(cited)}.\n")
        write_text(folder / f"{name}.tex", f"% Source: {cited}\n{latex(table)}")
        write_text(folder / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))


def latex(table: DataFrame) -> str:
    """Return a table as a LaTeX tabular for the package booktabs."""
    return MINUS.sub("$-$", table.to_latex(index=False, escape=True).translate(LATEX))


def figures(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    """Yield the figures for which there are data, first the figures about the claims."""
    if result := verdict.get("combined"):  # other figures have a row for each recipe
        caption = COMBINED.format(level=percent(LEVEL))
        yield Figure("combined", "answers", caption, partial(draw.draw_forest, _combined(result)))
        yield from _asked(evidence)
        return
    yield from _effects(evidence, verdict)
    yield from _trends(evidence, verdict)
    yield from _asked(evidence)
    yield from _curves(evidence)
    yield from _runs(evidence, verdict)


def _combined(result: Combined) -> list[draw.Panel]:
    """Return the panels of all effects of a study of combinations, and of the predicted gains."""
    axis, rows = metric_of(result["metric"]).axis, []
    for change in content.by_effect(result):
        if (effect := change["effect"]) is not None:
            half = change["half_width"]
            ends = () if half is None else (effect - half, effect + half)
            rows.append(draw.Row(arm_label(change["level"]), effect, ends))
    return [
        draw.Panel(f"gain, {axis}", rows),
        draw.Panel(f"predicted gain, {axis}", expected_gains(result)),
    ]


def expected_gains(result: Combined) -> list[draw.Row]:
    """Return the predicted gains of the best recipe, and without each of its largest changes, with
    their confidence intervals.
    """
    best = result["best"]
    rows = [draw.gain_row("the best recipe", best["gain"], best["error"], best["df"])]
    for part in best["parts"][:LARGEST]:
        name = f"without {arm_label(part['level'])}"
        rows.append(draw.gain_row(name, part["rest"], part["rest_error"], best["df"]))
    return rows


def _effects(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    """Yield a figure of the gains of the variants of a screen, and one of all other effects."""
    claims, screen = verdict["claims"], evidence.study.get("screen")
    rows = [_gain(claim, screen) if screen else None for claim in claims]
    if screen and (gains := [row for row in rows if row]):
        caption = GAINS.format(level=percent(1 - screen["alpha"]))
        yield Figure("gains", "answers", caption, partial(draw.draw_gains, gains, screen))
    rest = [claim for claim, row in zip(claims, rows, strict=True) if row is None]
    claims = [*filter(draw.has_effect, at_each_budget(rest))]
    levels = dict.fromkeys(percent(1 - claim["alpha"]) for claim in claims)
    if claims:
        caption = EFFECTS.format(level=listed([*levels]))
        yield Figure("effects", "answers", caption, partial(draw.draw_effects, claims))


def _gain(claim: Entry, screen: Screen) -> draw.Row | None:
    """Return the gain of a variant over the baseline; None if a claim does not compare them by the
    metric of the screen.
    """
    arms = [claim[side].get(FACTOR) for side in ("treatment", "baseline")]
    if claim["metric"] != screen["metric"] or BASELINE not in arms or not draw.has_effect(claim):
        return None
    is_loss = (claim["better"] != screen["better"]) != (arms[0] == BASELINE)
    sign = -1.0 if is_loss else 1.0
    ends = sorted(sign * end for end in claim["interval"] or ())
    name = arm_label({FACTOR: arms[arms[0] == BASELINE]})
    return draw.Row(name, sign * (claim["effect"] or 0.0), ends)


def _trends(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    # the effect of a trend with `minus` is a difference of slopes, which no single line has
    trends = [x for x in verdict["claims"] if x["kind"] == "trend" and not x["minus"]]
    for number, claim in enumerate(trends, start=1):
        metric, over = claim["metric"], claim["over"]
        caption = f"{content.named_metric(evidence, metric).title} by {factor_label(over)}."
        question = Shown(metric=metric, over=over, where=claim["where"], caption=caption)
        yield from _over_levels(evidence, question, f"trend-{number}")


def _asked(evidence: Evidence) -> Iterator[Figure]:
    """Yield the figures that the study asks for."""
    for number, figure in enumerate(evidence.study.get("figures", []), start=1):
        over = _over_layers if figure["over"] == LAYER else _over_levels
        yield from over(evidence, figure, f"levels-{number}")


def _over_levels(evidence: Evidence, asked: Shown, name: str) -> Iterator[Figure]:
    metric, over, points, lines = asked["metric"], asked["over"], draw.Points(), dict[str, Levels]()
    for run in evidence.runs:
        shown = asked["where"].items() <= run["levels"].items()
        if shown and (score := _measured(run, metric)) is not None:
            rest = {k: v for k, v in run["levels"].items() if k not in (over, *asked["where"])}
            lines.setdefault(line := arm_label(rest), rest)
            level: Any = run["levels"][over]
            number = isinstance(level, int | float) and not isinstance(level, bool)
            key = level if number else option_name(over, level) or value_text(level)
            points.setdefault(line, {}).setdefault(key, []).append(score)
    if points:
        styles = draw.line_styles(evidence.runs, lines)
        axis = content.named_metric(evidence, metric).axis
        caption = LEVELS.format(caption=asked["caption"], centre="means")
        drawn = partial(draw.draw_levels, axis, over, points, styles)
        yield Figure(name, "answers", caption, drawn)


def _measured(run: Run, metric: str) -> float | None:
    """Return the value of a metric for a run; None if the run failed or the value is missing."""
    try:
        return None if run["status"] == "failed" else value(run, metric)
    except KeyError:
        return None


def _over_layers(evidence: Evidence, asked: Shown, name: str) -> Iterator[Figure]:
    """Yield a figure of the gradient norms of all layers of each stack; norms of 0 are left out."""
    stacks: dict[str, draw.Points] = {}
    for arm, runs in by_label(evidence.runs).items():
        shown = asked["where"].items() <= runs[0]["levels"].items()
        for key, norm in (each for run in runs if shown for each in run["metrics"].items()):
            if key.startswith(f"{asked['metric']}/") and (layer := NORM.search(key)) and norm:
                line = stacks.setdefault(layer[1], {}).setdefault(arm, {})
                line.setdefault(int(layer[2]), []).append(norm)
    label = f"gradient norm, {asked['metric'].rpartition('/')[2]} step (L2)"
    caption = LEVELS.format(caption=asked["caption"], centre="medians")
    styles = draw.line_styles(evidence.runs)
    for stack, points in stacks.items():
        drawn = partial(draw.draw_levels, label, f"{stack} layer", points, styles, log=True)
        yield Figure(f"{name}-{stack}", "answers", f"{stack.capitalize()}: {caption}", drawn)


def _runs(evidence: Evidence, verdict: Verdict) -> Iterator[Figure]:
    """Yield a figure of all runs for every metric of which a claim estimates an effect; if there is
    none, for the metric of the first exact claim.
    """
    claims = [claim for claim in verdict["claims"] if claim["kind"] != "trend"]
    estimated = [claim["metric"] for claim in claims if claim["kind"] != "exact"]
    for metric in dict.fromkeys(estimated or [claim["metric"] for claim in claims[:1]]):
        rows = []
        for arm, runs in by_label(evidence.runs).items():
            values = [(_measured(run, metric), run["status"]) for run in runs]
            points = [(x, "o" if y == "finished" else "x") for x, y in values if x is not None]
            mean = fmean(x for x, _ in points) if len(points) > 1 else None
            rows.append(draw.Row(arm, mean, marker="|", points=points))
        if metric not in UNSTABLE and any(row.points for row in rows):
            named = content.named_metric(evidence, metric)
            drawn = partial(draw.draw_forest, [draw.Panel(named.axis, rows, None)])
            name = f"runs-{FOREIGN.sub('-', metric)}"
            yield Figure(name, "runs", RUNS.format(name=named.name), drawn)


def _curves(evidence: Evidence) -> Iterator[Figure]:
    curves: dict[str, dict[int, Curve]] = {}
    for arm, runs in by_label(evidence.runs).items():
        by_seed = {run["seed"]: run["curve"] for run in runs if run["curve"]}
        if by_seed and by_seed not in curves.values():
            curves[arm] = by_seed
    texts = texts_of_task(evidence.registration.get("components", {}))
    if curves:
        drawn = partial(draw.draw_curves, curves, draw.line_styles(evidence.runs))
        yield Figure("curves", "answers", CURVES.format(texts=texts), drawn)
