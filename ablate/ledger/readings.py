"""Read the readings of claims (readings.yaml): stated by a document, or only a remark."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml


@dataclass(frozen=True)
class Reading:
    """A way to read the sentence of a claim.

    Args:
        at: title and section of the document that states it; empty for a remark.
        says: the sentence of the document in our words.
        remark: why the reading is a remark; empty if a document states it.
    """

    at: str = ""
    says: str = ""
    remark: str = ""


@cache
def read_readings() -> dict[tuple[str, str], Reading]:
    """Return the readings of all claims with several readings, by claim and reading.

    A claim that no document makes has no entry: its experiment defines its meaning.
    """
    text = (files("ablate") / "claims" / "ledger" / "readings.yaml").read_text(encoding="utf-8")
    return {
        (claim, reading): Reading(**entry)
        for claim, readings in yaml.safe_load(text).items()
        for reading, entry in readings.items()
    }
