"""Repeat a committed experiment with fresh seeds, and say what is reproduced.

Runs the command of experiments/NAME with seeds that were never used for it, judges these runs
alone, and prints each new verdict beside the first one. An interrupted command continues where it
stopped.

example:
  ablate reproduce heads_param_count
"""

import argparse
import sys
from pathlib import Path

from ablate.cli.parser import FOLDER, PATH, Parser

FIRST = "reading the evidence"


def add_arguments(parser: Parser) -> None:
    """Declare the experiment, and where evidence is kept and written."""
    parser.add_argument(
        "name", metavar="NAME", help="an experiment with evidence: experiments/NAME"
    )
    parser.add_key("experiments", "where evidence is kept", FOLDER, Path("experiments"))
    parser.add_key("results", "where sweeps write", PATH, Path("results"))


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment again and print what was reproduced.

    Raises:
        UserError: there is no such evidence, or its study is another one now.
    """
    from ablate.cli.train import train  # imports Hydra
    from ablate.config.imports import search_current_folder
    from ablate.sweep.contest import Contest

    search_current_folder()
    contest = Contest.of(arguments.name, arguments.experiments, arguments.results)
    sys.argv[1:] = [*contest.overrides, "-m"]
    train()
    for line in contest.lines():
        print(line)
