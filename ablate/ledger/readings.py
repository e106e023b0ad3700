"""Read the file that lists the readings (possible meanings) of ambiguous claims (readings.yaml).

A reading is either stated by a document, or only a remark.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml


@dataclass(frozen=True)
class Reading:
    """One of several meanings of a claim.

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
    text = (files("ablate") / "claims" / "ledger" / "readings.yaml").read_text(encoding="utf-8")
    return {
        (claim, reading): Reading(**entry)
        for claim, readings in yaml.safe_load(text).items()
        for reading, entry in readings.items()
    }
