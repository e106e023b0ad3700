"""Read the claims of the documents (claims.csv), the headings of the documents' sections, and the
YAML files that annotate claims: pairs.yaml (claims that contradict each other), questions.yaml
(common questions), readings.yaml (possible meanings of ambiguous claims), and the reasons why some
claims cannot be decided by runs (standings.yaml), by artificial languages alone (real_text.yaml),
or by the verdicts so far (unasked.yaml).

The documents are texts about the Transformer whose sentences are tested. All files are in the
folder `claims` of the catalogue. A catalogue may lack any of them.
"""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from ablate.config.catalogue import catalogue

KINDS = ("exact", "empirical", "cost")
STANDINGS = ("definition", "convention", "history", "metaphor", "opinion", "title")


@dataclass(frozen=True)
class Claim:
    """A sentence of a document, in our words, with the factors to vary and the metric to
    measure.
    """

    id: str
    statement: str
    document: str  # title of the document
    section: str  # separated by semicolons if the claim is made twice
    also_in: str  # "title, section; title, section"
    kind: str  # exact: provable without training; empirical: needs training; cost: time or memory
    factors: str  # "factor: level, level; factor: level"
    metric: str
    group: str

    @property
    def factor_names(self) -> list[str]:
        """The factors to vary, without their levels."""
        return [part.partition(":")[0].strip() for part in self.factors.split(";") if part]


@dataclass(frozen=True)
class Document:
    """A text about the Transformer whose claims are tested: its title in English, its original
    title, and the headings of its sections.
    """

    title: str
    original: str
    sections: dict[str, str]  # from the names that claims use to the original headings


def read_claims() -> list[Claim]:
    """Return all claims of the documents, in the order of the file claims.csv, where claims of the
    same group follow each other.
    """
    return [Claim(**row) for row in _rows("claims.csv")]


def read_documents() -> list[Document]:
    """Return the documents, that is, the texts about the Transformer whose claims are tested.

    They have the order of the file documents.csv.
    """
    headings: dict[str, dict[str, str]] = {}
    for row in _rows("documents.csv"):
        headings.setdefault(row["document"], {})[row["section"]] = row["original"]
    return [Document(title, sections.pop(""), sections) for title, sections in headings.items()]


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


@dataclass(frozen=True)
class Reading:
    """One of several meanings of a claim.

    A reading is either stated by a document, or only a remark.

    Args:
        at: title and section of the document that states this meaning; empty for a remark.
        says: the sentence of the document in our words.
        remark: why no document states this meaning; empty if a document states it.
    """

    at: str = ""
    says: str = ""
    remark: str = ""


@dataclass(frozen=True)
class NotTestableReason:
    """The reason why no run can decide a claim (`why`), and the kind of this reason (`standing`),
    such as "definition" or "opinion".
    """

    standing: str  # one of STANDINGS
    why: str


def read_pairs() -> list[Pair]:
    """Return all pairs of contradicting claims, in the order of the file."""
    return [
        Pair(tuple(row["one"]), tuple(row["other"]), row["by"], row.get("says", ""))
        for row in _read("pairs.yaml")
    ]


def read_questions() -> list[Question]:
    """Return all questions, the most common first."""
    return [Question(text, **answered) for text, answered in _read("questions.yaml").items()]


@cache
def read_readings() -> dict[tuple[str, str], Reading]:
    """Return the readings, that is, the possible meanings, of all ambiguous claims, by (claim id,
    name of the reading).

    A claim that no document makes is not in the file, because the experiment on the claim defines
    what the claim means.
    """
    return {
        (claim, reading): Reading(**entry)
        for claim, readings in _read("readings.yaml").items()
        for reading, entry in readings.items()
    }


def read_standings() -> dict[str, NotTestableReason]:
    """Return, for every claim that is not testable, the reason; the keys are ids of claims."""
    standings = _read("standings.yaml")
    return {claim: NotTestableReason(**standing) for claim, standing in standings.items()}


@cache
def read_real_text() -> dict[str, str]:
    """Return, for every claim that only experiments on real text can decide, the reason why
    artificial languages are not enough; the keys are ids of claims.
    """
    return _read("real_text.yaml")


@cache
def read_unasked() -> dict[str, dict[str, str]]:
    """Return what is missing to decide a claim: for the id of the claim, the readings (meanings of
    the claim) that have no verdict yet, each with a sentence that says what is missing.
    """
    return _read("unasked.yaml")


def _rows(name: str) -> Iterable[dict[str, str]]:
    return csv.DictReader(io.StringIO(_text(name)))


def _read(name: str) -> Any:
    return yaml.safe_load(_text(name)) or {}


def _text(name: str) -> str:
    folder = catalogue()
    path = folder / "claims" / name if folder else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else ""
