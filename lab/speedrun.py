"""Judge the history of a public speed-run again: the third track of modded-nanogpt.

The report answers two questions about every entry whose runs are in experiments/speedrun. Does the
entry reach the target loss? Is it better than the entry before it, and than the best earlier entry?
Both are tested with the standard deviation that the speed-run states and with the measured standard
deviation. Writes experiments/speedrun/report.md.
"""

import argparse
from pathlib import Path

from ablate.cli.parser import PATH, Parser
from lab.command import main

FIRST = "judging the entries"
FOLDER = Path(__file__).resolve().parents[1] / "experiments" / "speedrun"


def add_arguments(parser: Parser) -> None:
    """Declare the folder of the tables and the report, and the folder of the public logs."""
    parser.add_key("folder", "with entries.csv; the report is written there", PATH, FOLDER)
    parser.add_key("data", "folder with the extracted logs: makes entries.csv and runs.csv", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Write and print the report; with `data`, first make the tables from the public logs.

    Raises:
        UserError: a file is missing or cannot be written.
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
