"""Repeat a committed experiment with new seeds, and print which verdicts are reproduced.

Runs the command of experiments/NAME with seeds that were never used for it, judges these runs
separately, and prints each new verdict beside the first one. An interrupted command continues when
it is repeated.

example:
  ablate reproduce dot_products
"""

import argparse
import sys
from pathlib import Path

from ablate.cli.parser import FOLDER, PATH, Parser
from ablate.config import evidence_folder

FIRST = "reading the evidence"


def add_arguments(parser: Parser) -> None:
    """Declare the experiment, and the folders of committed evidence and of results."""
    parser.add_argument(
        "name", metavar="NAME", help="an experiment with evidence: experiments/NAME"
    )
    parser.add_key("experiments", "folder of evidence", FOLDER, evidence_folder())
    parser.add_key("results", "folder of sweeps", PATH, Path("results"))


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment again with new seeds, and print which verdicts were reproduced.

    Raises:
        UserError: there is no such experiment, or its study has changed since it was run.
    """
    from ablate.cli.train import train  # imports Hydra
    from ablate.config import search_current_folder
    from ablate.sweep.reproduction import Reproduction

    search_current_folder()
    reproduction = Reproduction.of(arguments.name, arguments.experiments, arguments.results)
    sys.argv[1:] = [*reproduction.overrides, "-m"]
    train()
    for line in reproduction.lines():
        print(line)
