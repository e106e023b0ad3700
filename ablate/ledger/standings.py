"""Read why some claims cannot be decided by runs (standings.yaml), by artificial languages alone
(real_text.yaml), or by the verdicts so far (unasked.yaml).
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

STANDINGS = ("definition", "convention", "history", "metaphor", "opinion", "title")


@dataclass(frozen=True)
class NotTestableReason:
    """The reason why no run can decide a claim (`why`), and the kind of this reason (`standing`),
    such as "definition" or "opinion".
    """

    standing: str  # one of STANDINGS
    why: str


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
    the claim) that have no committed verdict yet, each with a sentence.
    """
    return _read("unasked.yaml")


def _read(name: str) -> Any:
    path = files("ablate") / "claims" / "ledger" / name
    return yaml.safe_load(path.read_text(encoding="utf-8"))
