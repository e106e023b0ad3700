"""Sentences that no run decides: what they are instead, and why (standings.yaml)."""

from dataclasses import dataclass
from importlib.resources import files

import yaml

STANDINGS = ("definition", "convention", "history", "metaphor", "opinion", "title")


@dataclass(frozen=True)
class Standing:
    """What a sentence is that no run decides."""

    standing: str  # one of STANDINGS
    why: str


def read_standings() -> dict[str, Standing]:
    """The standing of each such claim, by its id."""
    text = (files("ablate") / "claims" / "ledger" / "standings.yaml").read_text(encoding="utf-8")
    return {claim: Standing(**found) for claim, found in yaml.safe_load(text).items()}
