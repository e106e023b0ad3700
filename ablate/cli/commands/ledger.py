"""Show every claim of the documents with its verdicts in every regime, as a table."""

import argparse
import sys
from pathlib import Path

from ablate.cli.parser import FOLDER, Parser

PIPE_WIDTH = 160  # where there is no terminal to fit


def add_arguments(parser: Parser) -> None:
    """Declare the filters, and where verdicts are read."""
    parser.add_key("document", "claims of documents with this in their title")
    parser.add_key("factor", "claims about factors with this in their name")
    parser.add_key(
        "verdict", "supported, refuted, inconclusive, depends, no run decides, not tested, tested"
    )
    parser.add_key("group", "claims of groups with this in their name")
    parser.add_key("kind", "exact, empirical or cost")
    parser.add_key("text", "claims that contain this, anywhere")
    parser.add_key("experiments", "where verdicts are kept", FOLDER, Path("experiments"))
    parser.add_key("results", "where sweeps write", FOLDER, Path("results"))


def run(arguments: argparse.Namespace) -> None:
    """Print the ledger."""
    from rich.console import Console

    from ablate.ledger.entries import FILTERS, pick, read_entries
    from ablate.ledger.table import lines, summary

    entries, warnings = read_entries(arguments.experiments, arguments.results)
    for warning in warnings:
        print(f"ablate ledger: {warning}", file=sys.stderr)
    wanted = {key: value for key, value in vars(arguments).items() if key in FILTERS and value}
    picked = pick(entries, wanted, arguments.text or "")
    console = Console()
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    for line in lines(picked, console.width) if picked else ():
        console.print(line)
    console.print("\n" + summary(picked, entries), highlight=False)
