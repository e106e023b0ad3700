"""Measure on simulated sweeps how often verdicts are wrong, and write a page of tables.

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
    """Declare the numbers of simulated sweeps and of seeds, and the file of the tables."""
    parser.add_key("sweeps", "sweeps of each kind", whole(1), 1000)
    parser.add_key("seeds", "seeds per arm", several(whole(2)), [3, 5, 10, 20])
    parser.add_key(
        "to", "where the tables are written", PATH, Path("docs/explanation/calibration.md")
    )


def run(arguments: argparse.Namespace) -> None:
    """Simulate, and write and print the tables.

    Raises:
        UserError: the tables cannot be written.
        SystemExit: a percentage of errors is too high.
    """
    from ablate.record.files import write_text, writing
    from lab.calibration import robustness
    from lab.calibration.calibrate import MARGIN, SENTENCES, calibrate, keep, tried
    from lab.calibration.check import failures
    from lab.calibration.stress import stress
    from lab.calibration.tables import checked, document

    shares = calibrate(arguments.sweeps, arguments.seeds)
    kept = keep(shares, arguments.sweeps)
    weak = stress(arguments.sweeps, arguments.seeds)
    again = tried(arguments.sweeps)
    noise = robustness.measured_section()
    text = document(shares, kept, weak, again, arguments.sweeps, SENTENCES, MARGIN, noise)
    with writing(arguments.to):
        write_text(arguments.to, text)
    print(text)
    if failures(checked(shares, kept, weak, again, arguments.sweeps)):
        sys.exit(1)


if __name__ == "__main__":
    main("lab.calibrate")
