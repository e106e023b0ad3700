"""Read the list of claims that contradict each other (pairs.yaml); the claims are sentences of
documents about the Transformer.
"""

from dataclasses import dataclass
from importlib.resources import files

import yaml


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


def read_pairs() -> list[Pair]:
    """Return all pairs of contradicting claims, in the order of the file."""
    rows = yaml.safe_load(
        (files("ablate") / "claims" / "ledger" / "pairs.yaml").read_text(encoding="utf-8")
    )
    return [
        Pair(tuple(row["one"]), tuple(row["other"]), row["by"], row.get("says", "")) for row in rows
    ]
