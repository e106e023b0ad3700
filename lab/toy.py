"""Print example sentence pairs of the built-in corpus with glosses, as in docs/explanation/toy.md.

The corpus translates Mirel to Sodak, two artificial languages. A gloss is the English meaning.
"""

import argparse
from collections.abc import Iterable

from ablate.cli.parser import Parser
from ablate.data.toy.grammar import MIREL, SODAK, Sentence
from ablate.data.toy.lexicon import Token
from lab.command import main
from lab.constructions import CONSTRUCTIONS, Construction


def add_arguments(parser: Parser) -> None:
    """Declare no arguments."""


def run(arguments: argparse.Namespace) -> None:
    """Print the examples of every construction."""
    print("\n\n".join(map(block, CONSTRUCTIONS)))


def block(construction: Construction) -> str:
    """Return the name and the examples of a construction in Markdown."""
    pairs = "\n\n".join(map(pair, construction.examples))
    return f"**{construction.name}**\n\n```text\n{pairs}\n```"


def pair(meaning: Sentence) -> str:
    """Return four lines: a Mirel sentence, its glosses, its Sodak translation, and its glosses."""
    lines = interlinear(MIREL.sentence(meaning)) + interlinear(SODAK.sentence(meaning))
    return "\n".join(lines)


def interlinear(tokens: Iterable[Token]) -> tuple[str, str]:
    """Return two lines: a sentence, and the glosses, each of which is aligned with its word."""
    columns = [(token, max(map(len, token))) for token in tokens]
    words = (token.form.ljust(width) for token, width in columns)
    glosses = (token.gloss.ljust(width) for token, width in columns)
    return " ".join(words).rstrip(), " ".join(glosses).rstrip()


if __name__ == "__main__":
    main("lab.toy")
