"""Words in a row, each with its gloss."""

from collections.abc import Iterable
from typing import NamedTuple


class Token(NamedTuple):
    """A word of a sentence and its word-by-word translation, as linguists gloss it: `dog-PL`."""

    form: str
    gloss: str


def text(tokens: Iterable[Token]) -> str:
    """Return the sentence as it stands in the corpus."""
    return " ".join(token.form for token in tokens)
