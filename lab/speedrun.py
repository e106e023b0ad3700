"""Judge the history of a public speed-run again: the third track of modded-nanogpt.

For every entry whose runs are in experiments/speedrun: is the target reached, and is it better than
the entry before it and than the best before it, by the stated standard deviation and by the
measured one. Writes experiments/speedrun/report.md.
"""

import argparse
from pathlib import Path

from ablate.cli.parser import PATH, Parser
from lab.command import main

FIRST = "judging the entries"
FOLDER = Path(__file__).resolve().parents[1] / "experiments" / "speedrun"


def add_arguments(parser: Parser) -> None:
    """Declare where the numbers are, and whether they are taken anew from the public ones."""
    parser.add_key("folder", "with entries.csv; the report is written there", PATH, FOLDER)
    parser.add_key("data", "folder with the extracted logs: makes entries.csv and runs.csv", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Write the report and print it.

    Raises:
        UserError: a file is missing.
    """
    from ablate.record.files import write_text
    from lab.calibration.speedrun import extract, report

    if arguments.data:
        extract(arguments.data, arguments.folder)
    text = report(arguments.folder / "entries.csv")
    write_text(arguments.folder / "report.md", text)
    print(text)


if __name__ == "__main__":
    main("lab.speedrun")
