"""Compare the effects of a study of combinations with those of a screen.

Prints a Markdown table of the changes that both have. If effects add up, the two differ by chance
only. The folder may have a part of the runs.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from ablate.cli.parser import Parser
from ablate.errors import UserError
from lab.command import main

FIRST = "reading the evidence"
Effect = tuple[float, float, float]  # the effect and its 95 % interval, in units of the metric


def add_arguments(parser: Parser) -> None:
    """Declare the folders of the two studies."""
    parser.add_argument("folder", metavar="FOLDER", help="evidence of combinations")
    parser.add_argument("screen", metavar="SCREEN", help="evidence of a screen")


def run(arguments: argparse.Namespace) -> None:
    """Print the table, and how far effects do not add up.

    Raises:
        UserError: the first folder has no study of combinations.
    """
    from ablate.evidence.folder import Evidence
    from ablate.verdict.designs import combined

    evidence = Evidence.load(Path(arguments.folder))
    study, effects = evidence.study, combined(evidence)
    if effects is None:
        raise UserError(f"{arguments.folder} has no runs of a study of combinations that learned")
    low, high = effects["interaction_interval"]
    print(
        f"{effects['runs']} runs of {effects['recipes']} recipes. Runs of a recipe vary by "
        f"{effects['run_deviation']:.4f}; recipes around the sum of effects by "
        f"{effects['interaction']:.4f} ({low:.4f} to {high:.4f}); share {effects['share']:.2f}.\n"
    )
    print(f"| change | over recipes, {effects['metric']} | alone | difference |\n|---|---|---|---|")
    alone = dict(_effects_alone(Path(arguments.screen)))
    sign = 1.0 if effects["better"] == "higher" else -1.0
    for change in effects["changes"]:
        ((factor, level),) = change["level"].items()
        sets = study["levels"][factor][level]
        name = next((n for n, (x, _) in alone.items() if sets.items() <= x.items()), None)
        if name is None or change["effect"] is None or change["half_width"] is None:
            continue
        effect, half = sign * change["effect"], change["half_width"]
        mean, lower, upper = alone[name][1]
        print(
            f"| {name} | {effect:+.4f} ({effect - half:.4f} to {effect + half:.4f}) "
            f"| {mean:+.4f} ({lower:.4f} to {upper:.4f}) | {effect - mean:+.4f} |"
        )


def _effects_alone(screen: Path) -> Iterator[tuple[str, tuple[dict[str, object], Effect]]]:
    """Yield the name of each variant of a screen, with its overrides and its effect."""
    variants = json.loads((screen / "study.json").read_text())["study"]["screen"]["variants"]
    for claim in json.loads((screen / "verdict.json").read_text())["claims"]:
        sign = 1.0 if claim["better"] == "higher" else -1.0
        low, high = sorted(sign * bound for bound in claim["interval"])
        name = claim["treatment"]["variant"]
        yield name, (variants[name], (sign * claim["effect"], low, high))


if __name__ == "__main__":
    main("lab.beside_screen")
