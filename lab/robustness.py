"""Measure how often verdicts are false if the noise is not normal; takes about two minutes.

Replaces the tables on such noise in docs/explanation/calibration.md. The exit status is 1 if a
percentage of false verdicts is above the allowed percentage by more than the error of the
simulation.
"""

import argparse
import sys
from pathlib import Path

from ablate.cli.parser import PATH, Parser, several, whole
from lab.command import main

FIRST = "drawing skewed, heavy-tailed and growing noise"


def add_arguments(parser: Parser) -> None:
    """Declare the numbers of simulated sweeps and of seeds, and the page of the results."""
    parser.add_key("sweeps", "sweeps of each shape and number of seeds", whole(1), 4000)
    parser.add_key("seeds", "seeds per arm", several(whole(3)), [3, 5, 7, 10, 20])
    parser.add_key(
        "to", "the page whose tables are replaced", PATH, Path("docs/explanation/calibration.md")
    )


def run(arguments: argparse.Namespace) -> None:
    """Simulate, replace the tables, and print the tables.

    Raises:
        UserError: the page has no such section with two tables.
        SystemExit: a percentage of false verdicts is too high.
    """
    from ablate.record.files import write_text
    from lab.calibration.check import failures
    from lab.calibration.headlines import wrong_headlines
    from lab.calibration.robustness import (
        FEW_AND_ENOUGH,
        LEDGERS,
        checked,
        replaced,
        robustness,
        tables,
    )
    from lab.calibration.tables import markdown

    rates = robustness(arguments.sweeps, arguments.seeds)
    wrong = wrong_headlines(min(LEDGERS, arguments.sweeps), [*FEW_AND_ENOUGH])
    results = tables(rates, wrong)
    page = arguments.to.read_text(encoding="utf-8")
    write_text(arguments.to, replaced(page, results, arguments.sweeps))
    print("\n".join(map(markdown, results)))
    if failures(checked(rates, wrong, arguments.sweeps)):
        sys.exit(1)


if __name__ == "__main__":
    main("lab.robustness")
