"""Compare an arm with itself: judge all splits of ten of its runs into two halves.

Both halves have the same true mean. So every verdict that one half is better is false.
"""

import argparse
from pathlib import Path

from ablate.cli.parser import NUMBER, Parser
from lab.command import main

FIRST = "reading the runs"


def add_arguments(parser: Parser) -> None:
    """Declare the source of the runs, the margin of equivalence, and the split of the sentences."""
    parser.add_argument(
        "source", metavar="SOURCE", type=Path, help="folder of a sweep, or experiments/NAME"
    )
    parser.add_key("margin", "of the equivalence, in BLEU", NUMBER, 1.0)
    parser.add_key("split", "which sentences", default="test")


def run(arguments: argparse.Namespace) -> None:
    """Print as JSON the name of the arm and the proportion of splits with each verdict.

    Raises:
        UserError: the folder has no evidence, or no arm has ten finished runs.
    """
    import json

    from lab.calibration.aa import judge_splits, ten_runs
    from lab.calibration.noise import evidence_of

    evidence = evidence_of(arguments.source.expanduser())
    arm, parts = ten_runs(evidence, arguments.split)
    print(json.dumps({"arm": arm, **judge_splits(parts, arguments.margin)}, indent=2))


if __name__ == "__main__":
    main("lab.aa")
