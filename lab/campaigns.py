"""Simulate campaigns of an agent that tries candidates, with the referee and without it.

A candidate is a change that may improve the baseline. Each row of the table is a kind of noise and
of agent. It shows the percentage of campaigns that keep a useless candidate, the percentage of
useful candidates that are kept, the runs that this takes, and the bias of the baseline's estimate.
"""

import argparse
from pathlib import Path

from ablate.cli.parser import PATH, Parser, whole
from lab.command import main

FIRST = "simulating campaigns"
SPEEDRUN = Path(__file__).resolve().parents[1] / "experiments" / "speedrun" / "runs.csv"


def add_arguments(parser: Parser) -> None:
    """Declare the number of campaigns, the seed, and the table of runs whose noise is resampled."""
    parser.add_key("campaigns", "of each kind", whole(10), 2000)
    parser.add_key("seed", "of the simulation", whole(0), 0)
    parser.add_key("runs", "table whose noise is resampled", PATH, SPEEDRUN)


def run(arguments: argparse.Namespace) -> None:
    """Print the table as Markdown."""
    from lab.calibration.campaign_table import rows

    for line in rows(arguments.campaigns, arguments.seed, arguments.runs):
        print(line, flush=True)


if __name__ == "__main__":
    main("lab.campaigns")
