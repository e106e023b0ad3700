"""Read the claims of a catalogue, and what its authors know about single claims.

The folder `claims` of a catalogue has a row for each claim in claims.csv. YAML files there have the
possible meanings of claims (readings.yaml), and the reasons why some claims cannot be decided by
runs (standings.yaml), by artificial languages alone (real_text.yaml), or by the verdicts so far
(unasked.yaml). Any of these files may be missing.
"""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass as plain_dataclass
from functools import cache
from typing import Any

import yaml
from pydantic.dataclasses import dataclass

from ablate.config.location import catalogue


@dataclass(frozen=True)
class Claim:
    """A sentence that experiments test, in our words, with the factors to vary and the metric to
    measure.
    """

    id: str
    statement: str
    document: str = ""  # title of the document that makes the claim
    section: str = ""  # separated by semicolons if the claim is made twice
    also_in: str = ""  # "title, section; title, section"
    kind: str = "empirical"  # exact: provable without training; empirical; cost: time or memory
    factors: str = ""  # "factor: level, level; factor: level"
    metric: str = ""
    group: str = ""
    universal: bool = False  # whether the claim allows no exception

    @property
    def factor_names(self) -> list[str]:
        """The factors to vary, without their levels."""
        return [part.partition(":")[0].strip() for part in self.factors.split(";") if part]

    @property
    def documents(self) -> list[str]:
        """The titles of all documents that make the claim."""
        titles = (part.partition(", ")[0] for part in self.also_in.split("; ") if part)
        return [*dict.fromkeys([self.document, *titles])]


def read_claims() -> list[Claim]:
    """Return all claims of the catalogue in the order of its file, where claims of the same group
    follow each other. An empty cell has the default of its field.
    """
    rows: Iterable[dict[str, Any]] = csv.DictReader(io.StringIO(read_text("claims.csv")))
    return [Claim(**{name: cell for name, cell in row.items() if cell}) for row in rows]


@plain_dataclass(frozen=True)
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


@cache
def read_readings() -> dict[tuple[str, str], Reading]:
    """Return the readings, that is, the possible meanings, of all ambiguous claims, by (claim id,
    name of the reading).

    A claim that no document makes is not in the file, because the experiment on the claim defines
    what the claim means.
    """
    return {
        (claim, reading): Reading(**entry)
        for claim, readings in read_notes("readings").items()
        for reading, entry in readings.items()
    }


@plain_dataclass(frozen=True)
class NotTestableReason:
    """The reason why no run can decide a claim (`why`), and the kind of this reason (`standing`),
    such as "definition" or "opinion".
    """

    standing: str
    why: str


@cache
def read_standings() -> dict[str, NotTestableReason]:
    """Return, for every claim that is not testable, the reason; the keys are ids of claims."""
    return {claim: NotTestableReason(**why) for claim, why in read_notes("standings").items()}


@cache
def read_notes(name: str) -> Any:
    """Return the content of a YAML file in the folder `claims`; {} if there is none.

    Args:
        name: name of the file without its ending. "real_text" has the reasons why artificial
            languages do not decide a claim, by the id of the claim. "unasked" has the readings of a
            claim that have no verdict yet, each with a sentence that says what is missing.
    """
    return yaml.safe_load(read_text(f"{name}.yaml")) or {}


def read_text(name: str) -> str:
    """Return the text of a file in the folder `claims` of the catalogue; "" if there is none."""
    folder = catalogue()
    path = folder / "claims" / name if folder else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else ""
