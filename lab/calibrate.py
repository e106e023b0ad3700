"""Measure on simulated sweeps how often verdicts are wrong, and replace the tables of a page.

The simulation uses all cores and takes at least half an hour of CPU time. The exit status is 1 if a
percentage of errors is above the allowed percentage by more than the error of the simulation.
"""

import argparse
import sys
from pathlib import Path

from ablate.cli.parser import PATH, Parser, several, whole
from lab.command import main

FIRST = "drawing studies whose answer is known"


def add_arguments(parser: Parser) -> None:
    """Declare the numbers of simulated sweeps and of seeds, and the page of the tables."""
    parser.add_key("sweeps", "sweeps of each kind", whole(1), 1000)
    parser.add_key("seeds", "seeds per arm", several(whole(2)), [3, 5, 10, 20])
    parser.add_key(
        "to", "the page whose tables are replaced", PATH, Path("docs/explanation/calibration.md")
    )


def run(arguments: argparse.Namespace) -> None:
    """Simulate, and replace the tables and print the page.

    Raises:
        UserError: the page does not have the headings and tables.
        SystemExit: a percentage of errors is too high.
    """
    from ablate.record.files import write_text
    from lab.calibration import robustness
    from lab.calibration.calibrate import MARGIN, SENTENCES, calibrate, keep, tried
    from lab.calibration.check import failures
    from lab.calibration.stress import stress
    from lab.calibration.tables import SECTIONS, checked, document, find_section

    page = arguments.to.read_text(encoding="utf-8")
    for title in SECTIONS:  # before the simulations, which take long
        find_section(page, title, 1)
    find_section(page, robustness.TITLE, 2)
    shares = calibrate(arguments.sweeps, arguments.seeds)
    kept = keep(shares, arguments.sweeps)
    weak = stress(arguments.sweeps, arguments.seeds)
    again = tried(arguments.sweeps)
    page = robustness.measured(page)
    text = document(page, shares, kept, weak, again, arguments.sweeps, SENTENCES, MARGIN)
    write_text(arguments.to, text)
    print(text)
    if failures(checked(shares, kept, weak, again, arguments.sweeps)):
        sys.exit(1)


if __name__ == "__main__":
    main("lab.calibrate")
