"""Read common questions and the claims that answer them (questions.yaml)."""

from dataclasses import dataclass
from importlib.resources import files

import yaml


@dataclass(frozen=True)
class Question:
    """A common question about the Transformer in plain words.

    Args:
        text: the question.
        claims: ids of the claims that answer it, the most direct first.
    """

    text: str
    claims: tuple[str, ...]


def read_questions() -> list[Question]:
    """Return all questions, the most common first."""
    path = files("ablate") / "claims" / "ledger" / "questions.yaml"
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Question(text, tuple(claims)) for text, claims in listed.items()]
