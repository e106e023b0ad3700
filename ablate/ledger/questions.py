"""Read common questions, their answers and the claims behind the answers (questions.yaml)."""

from dataclasses import dataclass
from importlib.resources import files

import yaml


@dataclass(frozen=True)
class Question:
    """A common question about the Transformer in plain words, with its answer.

    Args:
        text: the question.
        answer: the answer in one to three sentences.
        claims: the claims on which the answer rests, the most direct first: their ids, and the
            headline (such as "supported") of each claim for which the answer was written.
    """

    text: str
    answer: str
    claims: dict[str, str]


def read_questions() -> list[Question]:
    """Return all questions, the most common first."""
    path = files("ablate") / "claims" / "ledger" / "questions.yaml"
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Question(text, **answered) for text, answered in listed.items()]
