"""Measure on simulated sweeps how often verdicts are wrong, as a table per question.

Takes about ten minutes of one core, on all cores.
"""

import argparse
from pathlib import Path

from ablate.cli.parser import PATH, Parser, several, whole


def add_arguments(parser: Parser) -> None:
    """Declare how much is simulated, and where the tables go."""
    parser.add_key("sweeps", "sweeps of each kind", whole(1), 1000)
    parser.add_key("seeds", "seeds per arm", several(whole(2)), [3, 5, 10, 20])
    parser.add_key("to", "where the tables are written", PATH, Path("docs/calibration.md"))


def run(arguments: argparse.Namespace) -> None:
    """Simulate, write the tables and print them.

    Raises:
        UserError: the tables cannot be written.
    """
    from ablate.calibration.calibrate import MARGIN, SENTENCES, calibrate, keep
    from ablate.calibration.tables import document
    from ablate.record.files import write_text, writing

    shares = calibrate(arguments.sweeps, arguments.seeds)
    kept = keep(shares, arguments.sweeps)
    text = document(shares, kept, arguments.sweeps, SENTENCES, MARGIN)
    with writing(arguments.to):
        write_text(arguments.to, text)
    print(text)
