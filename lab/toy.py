"""Print sentence pairs of the built-in corpus, with glosses, as they stand in docs/toy.md."""

import argparse

from ablate.cli.parser import Parser
from lab.command import main


def add_arguments(parser: Parser) -> None:
    """It takes none."""


def run(arguments: argparse.Namespace) -> None:
    """Print the examples of every construction."""
    from ablate.data.toy.constructions import CONSTRUCTIONS
    from ablate.data.toy.examples import block

    print("\n\n".join(map(block, CONSTRUCTIONS)))


if __name__ == "__main__":
    main("lab.toy")
