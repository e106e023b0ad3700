"""Measure how much BLEU varies between seeds and between test sentences.

Prints three standard deviations, in BLEU, of the score of one run on a test set of this size, for
every arm and for the paired difference of every two arms:
  seed       variation between seeds that an unlimited number of test sentences would not remove
  sentence   variation between test sets that all seeds of the arm share
  rest       interaction: some seeds are better on some sentences, other seeds on other sentences
"""

import argparse
from pathlib import Path

from ablate.cli.parser import Parser
from lab.command import main

FIRST = "reading the runs"


def add_arguments(parser: Parser) -> None:
    """Declare the source of the runs, and the split of the sentences."""
    parser.add_argument(
        "source", metavar="SOURCE", type=Path, help="folder of a sweep, or experiments/NAME"
    )
    parser.add_key("split", "which sentences", default="test")


def run(arguments: argparse.Namespace) -> None:
    """Print the noise of every arm and of every pair of arms as JSON.

    Raises:
        UserError: the folder has no evidence, or no arm has two finished runs.
    """
    import json

    from lab.calibration.noise import evidence_of, noise

    evidence = evidence_of(arguments.source.expanduser())
    print(json.dumps(noise(evidence, arguments.split), indent=2))


if __name__ == "__main__":
    main("lab.noise")
