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


def interlinear(tokens: Iterable[Token]) -> tuple[str, str]:
    """Return the sentence and, on a second line, each gloss below its word."""
    columns = [(token, max(map(len, token))) for token in tokens]
    words = (token.form.ljust(width) for token, width in columns)
    glosses = (token.gloss.ljust(width) for token, width in columns)
    return " ".join(words).rstrip(), " ".join(glosses).rstrip()
