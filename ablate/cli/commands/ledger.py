"""Show the claims of the catalogue, with the answers of the experiments.

Without a filter, print a summary. With words or filters, print the claims that match all of them.

example:
  ablate ledger
  ablate ledger warm-up pre-ln
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.cli.parser import FOLDER, Parser, one_of

if TYPE_CHECKING:
    from ablate.ledger.entries import Entry

EVIDENCE = "folder of verdicts, instead of the catalogue and ./experiments"
NO_CATALOGUE = (
    "no catalogue of claims here: work in a clone of the repository of ablate, whose folder "
    'experiments is one, or name a folder of yours in pyproject.toml: catalogue = "FOLDER" below '
    "[tool.ablate]"
)
STATES = (
    *("supported", "refuted", "mixed", "undecided", "not testable", "not tested"),
    "tested",  # with a verdict
)
WHOSE = "own: only your sweeps and experiments; committed: without them"


def add_arguments(parser: Parser) -> None:
    """Declare the filters, and the folders from which verdicts are read."""
    parser.add_argument(
        "words", metavar="WORD", nargs="*", help="list the claims that contain all of these words"
    )
    parser.add_argument(
        "--all", action="store_true", help="list every claim, or all verdicts of matching claims"
    )
    parser.add_argument("--json", action="store_true", help="print the claims and verdicts as JSON")
    parser.add_key("word", "claims that contain this text")
    parser.add_key("state", "claims with this headline", one_of(*STATES))
    parser.add_key("document", "claims of documents whose title contains this")
    parser.add_key("experiment", "claims of experiments whose name contains this")
    parser.add_key("only", WHOSE, one_of("own", "committed"), "")
    parser.add_key("experiments", EVIDENCE, FOLDER)
    parser.add_key("results", "folder of sweeps", FOLDER, Path("results"))


def run(arguments: argparse.Namespace) -> None:
    """Print the summary, or the claims that match the filters."""
    from ablate.config.catalogue import catalogue
    from ablate.ledger.entries import FILTERS, pick, read_entries
    from ablate.ledger.text import summary

    entries, warnings = read_entries(arguments.experiments, arguments.results, arguments.only)
    if catalogue() is None and arguments.experiments is None:
        warnings.insert(0, NO_CATALOGUE)
    for warning in warnings:
        print(f"ablate ledger: {warning}", file=sys.stderr)
    given = {key: value for key, value in vars(arguments).items() if value}
    wanted = {key: value for key, value in given.items() if key in FILTERS}
    words = [*arguments.words, *([arguments.word] if arguments.word else [])]
    picked = pick(entries, wanted, words)
    if arguments.json:
        from ablate.ledger.export import as_json  # numpy

        print(as_json(picked))
    elif wanted or words or arguments.only or arguments.all:
        _print_list(picked, entries, words, whole=arguments.all)
        if arguments.only == "own" and not entries:
            print(
                f"No sweep in {arguments.results} has given a verdict yet: run an experiment "
                "with -m (scale=smoke gives no verdict)."
            )
    elif entries:
        print("\n".join(summary(entries)))


def _print_list(
    picked: "list[Entry]", entries: "list[Entry]", words: list[str], *, whole: bool
) -> None:
    """Print the matching claims; on a terminal, lines are wrapped.

    Args:
        picked: the claims that match the filters, with their answers.
        entries: all claims.
        words: words of a search.
        whole: whether each claim is printed with all of its answers and sources.
    """
    from rich.text import Text

    from ablate.console import make_console
    from ablate.ledger.text import lines, totals

    console = make_console()
    width = console.width if sys.stdout.isatty() else None
    for line in lines(picked, width, whole=whole, words=words):
        console.print(line, soft_wrap=True)
    console.print(Text("\n" + totals(picked, entries)), soft_wrap=True)
