"""Run a command `python -m lab.NAME`, whose module defines `add_arguments` and `run`."""

import argparse
import sys
from collections.abc import Callable

from ablate.cli.main import run_command
from ablate.cli.parser import PATH, Parser, exit_statuses


def add_page(parser: Parser) -> None:
    """Declare the file of a page."""
    parser.add_key("to", "write the page there", PATH, required=True)


def write_page(arguments: argparse.Namespace, page: Callable[[], str]) -> None:
    """Write a page into the file that the command names."""
    from ablate.record.files import write_text

    write_text(arguments.to, page())
    print(f"page: {arguments.to}")


def main(module: str) -> None:
    """Run the command of a module, such as "lab.noise", with the arguments of this process.

    Raises:
        SystemExit: the command has failed; the message is on stderr.
    """
    prog = f"python -m {module}"
    with exit_statuses(prog):
        run_command(prog, module, sys.argv[1:])
