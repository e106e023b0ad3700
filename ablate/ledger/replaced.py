"""Verdicts on questions that missed their sentence and were asked again (replaced.yaml)."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml


@dataclass(frozen=True)
class Replaced:
    """Why a verdict has no part in what its claim comes to."""

    by: str  # the experiment that asks now
    why: str


@cache
def read_replaced() -> dict[tuple[str, str], Replaced]:
    """The verdicts that were replaced, by their experiment and claim."""
    text = (files("ablate") / "claims" / "ledger" / "replaced.yaml").read_text(encoding="utf-8")
    return {
        (experiment, claim): Replaced(**found)
        for experiment, claims in yaml.safe_load(text).items()
        for claim, found in claims.items()
    }
