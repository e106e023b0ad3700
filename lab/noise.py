"""Measure how much BLEU varies between seeds and between test sentences.

Standard deviations, in BLEU, of the score of one run on a test set of this size, for every arm and
for the paired difference of every two arms:
  seed       other seeds, on endless test sentences
  sentence   other sentences, on which all seeds of the arm agree
  rest       what is left: a seed does better on some sentences and another on others
"""

import argparse
from pathlib import Path

from ablate.cli.parser import Parser
from lab.command import main

FIRST = "reading the runs"


def add_arguments(parser: Parser) -> None:
    """Declare the runs and their sentences."""
    parser.add_argument(
        "source", metavar="SOURCE", type=Path, help="folder of a sweep, or experiments/NAME"
    )
    parser.add_key("split", "which sentences", default="test")


def run(arguments: argparse.Namespace) -> None:
    """Print the noise.

    Raises:
        UserError: the folder holds no evidence, or no arm has two runs.
    """
    import json

    from lab.calibration.noise import evidence_of, noise

    evidence = evidence_of(arguments.source.expanduser())
    print(json.dumps(noise(evidence, arguments.split), indent=2))


if __name__ == "__main__":
    main("lab.noise")
