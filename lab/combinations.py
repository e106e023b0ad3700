"""Measure by simulation how often results about many changes at once are wrong.

Prints the table of docs/explanation/statistics.md. Takes about three minutes of one core.
"""

import argparse

from ablate.cli.parser import Parser, whole
from lab.command import main

FIRST = "drawing studies of 24 changes whose effects are known"
RUNS, ARMS = 402, 25  # of the one-at-a-time design; with two rates, a tuned run costs three


def add_arguments(parser: Parser) -> None:
    """Declare the number of simulated studies."""
    parser.add_key("studies", "studies of each case", whole(1), 400)


def run(arguments: argparse.Namespace) -> None:
    """Print a Markdown table, and the power of a design that changes one thing at a time."""
    from lab.calibration.combinations import CASES, EFFECT, one_at_a_time, simulate

    heads = "truth | false | covered | standard error | deviation | power | interaction covered"
    print(f"| {heads} | predicted too much | prediction covered |", flush=True)
    for name, case in CASES.items():
        rates = simulate(case, arguments.studies)
        kinds = rates.average, rates.tuned
        cells = [
            *(" / ".join(f"{100 * kind[k]:.1f}" for kind in kinds) for k in (0, 1)),
            *(" / ".join(f"{kind[k]:.4f}" for kind in kinds) for k in (2, 3)),
            " / ".join(f"{100 * kind.power:.0f}" for kind in kinds),
            *(f"{100 * part:.1f}" for part in (rates.interaction, rates.bias, rates.predicted)),
        ]
        print("|", name, "|", " | ".join(cells), "|", flush=True)
    powers = [100 * one_at_a_time(RUNS, arms, EFFECT) for arms in (ARMS, 3 * ARMS)]
    print("\nOne at a time: power {:.0f} %, with tuned rates {:.0f} %.".format(*powers))


if __name__ == "__main__":
    main("lab.combinations")
