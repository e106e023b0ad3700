"""Read what the catalogue says about its documents and common questions: the headings of the
documents (documents.csv), claims that contradict each other (pairs.yaml), and common questions with
their answers (questions.yaml).

The documents are texts about the Transformer whose claims are tested.
"""

import csv
import io
from dataclasses import dataclass

from ablate.ledger.verdicts import Claim, read_notes, read_text


@dataclass(frozen=True)
class Document:
    """A text about the Transformer whose claims are tested: its title in English, its original
    title, and the headings of its sections.
    """

    title: str
    original: str
    sections: dict[str, str]  # from the names that claims use to the original headings


def read_documents() -> list[Document]:
    """Return the documents, that is, the texts about the Transformer whose claims are tested.

    They have the order of the file documents.csv.
    """
    headings: dict[str, dict[str, str]] = {}
    for row in csv.DictReader(io.StringIO(read_text("documents.csv"))):
        headings.setdefault(row["document"], {})[row["section"]] = row["original"]
    return [Document(title, sections.pop(""), sections) for title, sections in headings.items()]


def places(claim: Claim) -> dict[str, list[str]]:
    """Return the sections of documents (texts about the Transformer) that make a claim, by the
    title of the document.

    A section is given by its name, after which an item or a step may follow, as in "Section 3,
    item 2".
    """
    by_title = {claim.document: [place for place in claim.section.split("; ") if place]}
    for part in filter(None, claim.also_in.split("; ")):
        title, _, place = part.partition(", ")
        by_title.setdefault(title, []).append(place)
    return by_title


@dataclass(frozen=True)
class Pair:
    """Two sets of claims, given by id, that contradict each other: at most one of the two sets can
    be right.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    by: str  # the measurement that decides between the two sets
    says: str = ""  # the contradicting sentence, if it is not a claim of the ledger

    def against(self, claim: str) -> tuple[str, ...]:
        """Return the ids of the claims that contradict a claim; () if the claim is in neither set
        of this pair.
        """
        if claim in self.first:
            return self.second
        return self.first if claim in self.second else ()


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


def read_pairs() -> list[Pair]:
    """Return all pairs of contradicting claims, in the order of the file."""
    return [
        Pair(tuple(row["one"]), tuple(row["other"]), row["by"], row.get("says", ""))
        for row in read_notes("pairs") or []
    ]


def read_questions() -> list[Question]:
    """Return all questions, the most common first."""
    return [Question(text, **answered) for text, answered in read_notes("questions").items()]
