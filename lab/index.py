"""Write the verdicts of all experiments in a folder as a table, to its README.md."""

import argparse
from pathlib import Path

from ablate.cli.parser import Parser
from lab.command import main

FIRST = "reading the verdicts"


def add_arguments(parser: Parser) -> None:
    """Declare the folder."""
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        default="experiments",
        help="folder of the experiments (default: experiments)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the table.

    Raises:
        UserError: no experiment in the folder has a verdict, or the table cannot be written.
    """
    from ablate.record.files import write_text, writing
    from ablate.report.index import index

    path = arguments.folder.expanduser() / "README.md"
    text = index(path.parent)
    with writing(path):
        write_text(path, text)
    print(f"table: {path}")


if __name__ == "__main__":
    main("lab.index")
