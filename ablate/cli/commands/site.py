"""Write all claims, documents and experiments as web pages that open from disk.

example:
  ablate site to=pages
"""

import argparse
import sys
from pathlib import Path

from ablate.cli.commands.ledger import EVIDENCE, WHOSE
from ablate.cli.parser import FOLDER, PATH, Parser, one_of

FIRST = "reading claims and verdicts"


def add_arguments(parser: Parser) -> None:
    """Declare the folders from which verdicts are read, and the folder to which web pages are
    written.
    """
    parser.add_key("to", "folder for the pages; the first is index.html", PATH, required=True)
    parser.add_key("only", WHOSE, one_of("own", "committed"), "")
    parser.add_key("experiments", EVIDENCE, FOLDER)
    parser.add_key("results", "folder of sweeps", FOLDER, Path("results"))


def run(arguments: argparse.Namespace) -> None:
    """Write the web pages of the site with all claims and verdicts into a folder, and print the
    path of its first page.

    Raises:
        UserError: the folder cannot be written.
    """
    from ablate.ledger.entries import read_entries
    from ablate.record.files import writing
    from ablate.site.write import write

    with writing(arguments.to):  # all evidence is read before the first page is written
        arguments.to.mkdir(parents=True, exist_ok=True)
    entries, warnings = read_entries(arguments.experiments, arguments.results, arguments.only)
    warnings += write(entries, arguments.to, arguments.results)
    for warning in warnings:
        print(f"ablate site: {warning}", file=sys.stderr)
    print(f"site: {arguments.to / 'index.html'}")
