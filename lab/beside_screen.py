"""Compare the effects of a study of combinations with those of a screen.

Prints a Markdown table of the changes that both have, and draws both effects beside each other. If
effects add up, the two differ by chance only. The folder may have a part of the runs.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ablate.cli.parser import PATH, Parser
from ablate.config.labels import arm_label
from ablate.errors import UserError
from ablate.metric import metric_of
from lab.command import main

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ablate.evidence.folder import Evidence
    from ablate.verdict.types import Combined

FIRST = "reading the evidence"
WIDTH, LEAST, ROW = 8.5, 1.0, 0.24  # inches: width of the figure, its height without rows, a row


class Effect(NamedTuple):
    """An effect with its 95 % interval, in units of the metric."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ({self.low:.4f} to {self.high:.4f})"


class Change(NamedTuple):
    """The effects of a change: the average over recipes, and of the change alone."""

    name: str
    over_recipes: Effect
    alone: Effect


def add_arguments(parser: Parser) -> None:
    """Declare the folders of the two studies."""
    parser.add_argument("folder", metavar="FOLDER", help="evidence of combinations")
    parser.add_argument("screen", metavar="SCREEN", help="evidence of a screen")
    parser.add_key("to", "draw the effects into this file, such as effects.svg", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Print the table, and how far effects do not add up; draw the figure if it is asked for.

    Raises:
        UserError: the first folder has no study of combinations.
    """
    from ablate.evidence.folder import Evidence
    from ablate.record.files import write_text
    from ablate.report.content import combined_lines
    from ablate.report.draw import style, svg
    from ablate.verdict.designs import combined_results

    evidence = Evidence.load(Path(arguments.folder))
    effects = combined_results(evidence)
    if effects is None:
        raise UserError(f"{arguments.folder} has no runs of a study of combinations that learned")
    print(*combined_lines(effects), sep="\n\n")
    changes = sorted(_changes(evidence, effects, Path(arguments.screen)), key=lambda x: x[1].mean)
    metric = metric_of(effects["metric"]).name
    print(f"\n| change | over recipes, {metric} | alone | difference |\n|---|---|---|---|")
    for change in changes:
        difference = change.over_recipes.mean - change.alone.mean
        print(f"| {change.name} | {change.over_recipes} | {change.alone} | {difference:+.4f} |")
    if arguments.to:
        with style():
            figure = draw(changes, metric)
        write_text(arguments.to, svg(figure))


def _changes(evidence: "Evidence", effects: "Combined", screen: Path) -> Iterator[Change]:
    """Yield the changes that both studies have."""
    alone = dict(_effects_alone(screen))
    sign = 1.0 if effects["better"] == "higher" else -1.0
    for change in effects["changes"]:
        ((factor, level),) = change["level"].items()
        sets = evidence.study["levels"][factor][level]
        name = next((n for n, (x, _) in alone.items() if sets.items() <= x.items()), None)
        if name is None or change["effect"] is None or change["half_width"] is None:
            continue
        effect, half = sign * change["effect"], change["half_width"]
        over_recipes = Effect(effect, effect - half, effect + half)
        yield Change(arm_label(change["level"]), over_recipes, alone[name][1])


def _effects_alone(screen: Path) -> Iterator[tuple[str, tuple[Mapping[str, object], Effect]]]:
    """Yield the name of each variant of a screen, with its overrides and its effect."""
    variants = json.loads((screen / "study.json").read_text())["study"]["screen"]["variants"]
    for claim in json.loads((screen / "verdict.json").read_text())["claims"]:
        sign = 1.0 if claim["better"] == "higher" else -1.0
        low, high = sorted(sign * bound for bound in claim["interval"])
        name = claim["treatment"]["variant"]
        yield name, (variants[name], Effect(sign * claim["effect"], low, high))


def draw(changes: list[Change], metric: str) -> "Figure":
    """Draw the effects over recipes on the left, and those of each change alone on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, LEAST + ROW * len(changes)), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, place, title in ((left, 1, "average over recipes"), (right, 2, "alone")):
        for row, change in enumerate(changes):
            effect: Effect = change[place]
            axes.plot([effect.low, effect.high], [row, row], "|-", color="0.2", markersize=7)
            axes.plot([effect.mean], [row], "o", color="0.2")
        axes.axvline(0, color="0.2", linewidth=0.9)
        axes.set_title(title)
        axes.set_xlabel(f"difference in {metric}, 95 % interval")
    left.set_yticks(range(len(changes)), [change.name for change in changes])
    left.invert_yaxis()
    return figure


if __name__ == "__main__":
    main("lab.beside_screen")
