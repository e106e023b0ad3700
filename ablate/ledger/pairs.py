"""Sentences of the documents that contradict each other (pairs.yaml)."""

from dataclasses import dataclass
from importlib.resources import files

import yaml


@dataclass(frozen=True)
class Pair:
    """Two sides that cannot both be right; claims by their ids."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    by: str  # what decides between them
    says: str = ""  # the other side, where it is no claim of its own

    def against(self, claim: str) -> tuple[str, ...]:
        """The claims that contradict a claim; none where it is not of this pair."""
        if claim in self.one:
            return self.other
        return self.one if claim in self.other else ()


def read_pairs() -> list[Pair]:
    """Every pair, in the order of the file."""
    rows = yaml.safe_load(
        (files("ablate") / "claims" / "ledger" / "pairs.yaml").read_text(encoding="utf-8")
    )
    return [Pair(**{**row, "one": tuple(row["one"]), "other": tuple(row["other"])}) for row in rows]
