"""Print sentence pairs of the built-in corpus, with glosses, as they stand in docs/toy.md."""

import argparse

from ablate.cli.parser import Parser
from ablate.data.toy import mirel, sodak
from ablate.data.toy.constructions import CONSTRUCTIONS, Construction
from ablate.data.toy.text import interlinear
from ablate.data.toy.tree import Sentence
from lab.command import main


def add_arguments(parser: Parser) -> None:
    """It takes none."""


def run(arguments: argparse.Namespace) -> None:
    """Print the examples of every construction."""
    print("\n\n".join(map(block, CONSTRUCTIONS)))


def block(construction: Construction) -> str:
    """Return the examples of a construction in Markdown."""
    pairs = "\n\n".join(map(pair, construction.examples))
    return f"**{construction.name}**\n\n```text\n{pairs}\n```"


def pair(meaning: Sentence) -> str:
    """Return a Mirel sentence and its Sodak translation, each with its glosses."""
    lines = interlinear(mirel.sentence(meaning)) + interlinear(sodak.sentence(meaning))
    return "\n".join(lines)


if __name__ == "__main__":
    main("lab.toy")
