"""Read the claims of the documents (claims.csv), and the headings of the documents' sections.

The documents are texts about the Transformer whose sentences are tested.
"""

import csv
import io
from dataclasses import dataclass
from importlib.resources import files

KINDS = ("exact", "empirical", "cost")


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


def _rows(name: str) -> list[dict[str, str]]:
    text = (files("ablate") / "claims" / "ledger" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))
