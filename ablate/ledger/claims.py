"""What the documents claim: the rows of claims.csv, and where their sections are."""

import csv
import io
from dataclasses import dataclass
from importlib.resources import files

KINDS = ("exact", "empirical", "cost")


@dataclass(frozen=True)
class Claim:
    """A sentence of a document, in our words, with what would have to vary and be measured."""

    id: str
    statement: str
    document: str  # title
    section: str  # separated by semicolons where the claim is made twice
    also_in: str  # "title, section; title, section"
    kind: str  # exact: provable without training; empirical: needs training; cost: time or memory
    factors: str  # "factor: level, level; factor: level"
    metric: str
    group: str

    @property
    def factor_names(self) -> list[str]:
        """The factors without their levels."""
        return [part.partition(":")[0].strip() for part in self.factors.split(";") if part]


@dataclass(frozen=True)
class Document:
    """A document by its English title here, its own title, and the headings of its sections."""

    title: str
    original: str
    sections: dict[str, str]  # as claims name them: as the document does


def read_claims() -> list[Claim]:
    """All claims, in the order of their groups."""
    return [Claim(**row) for row in _rows("claims.csv")]


def read_documents() -> list[Document]:
    """The documents, in the order in which they were read."""
    headings: dict[str, dict[str, str]] = {}
    for row in _rows("documents.csv"):
        headings.setdefault(row["document"], {})[row["section"]] = row["original"]
    return [Document(title, own.pop(""), own) for title, own in headings.items()]


def _rows(name: str) -> list[dict[str, str]]:
    text = (files("ablate") / "claims" / "ledger" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))
